"""Convolutions of one to three spatial axes, and transposed ones of two.

A depthwise one has as many groups as channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from tilewright_tensor.expressions.expr import logical_and, lt, select
from tilewright_tensor.ir.dag import compute, reduce_axis, reduce_sum
from tilewright_tensor.operators.builtin.padding import pad_stage
from tilewright_tensor.operators.builtin.window_counts import window_counts
from tilewright_tensor.operators.definition.attribute import (
    Attribute,
    Attributes,
    check_steps,
    extents,
    integer,
    integers,
    margins,
)
from tilewright_tensor.operators.definition.operator_def import (
    Inputs,
    Operand,
    OperatorDef,
    expect,
    numpy_reference,
    one_dtype,
)

if TYPE_CHECKING:
    from tilewright_tensor.expressions.expr import Value
    from tilewright_tensor.expressions.tensor import Axis, Tensor
    from tilewright_tensor.ir.dag import Reduction


_Shape = Callable[[Sequence[int], Sequence[int], Attributes], tuple[int, ...]]
"""The output's, of data's, weight's and the attributes."""


def _infer(shape_of: _Shape, inputs: Inputs, attributes: Attributes) -> tuple[tuple[int, ...], str]:
    data, weight = inputs
    rank = 2 + len(attributes["strides"])
    expect(
        len(data.shape) == rank == len(weight.shape),
        f"expected data and weight of rank {rank}, got {len(data.shape)} and {len(weight.shape)}",
    )
    groups = attributes["groups"]
    expect(
        groups > 0 and weight.shape[0] % groups == 0 and data.shape[1] == weight.shape[1] * groups,
        f"data {list(data.shape)} and weight {list(weight.shape)} do not fit with groups={groups}",
    )
    return shape_of(data.shape, weight.shape, attributes), one_dtype(inputs)


def _shape(data: Sequence[int], weight: Sequence[int], attributes: Attributes) -> tuple[int, ...]:
    strides, padding, dilation = (attributes[name] for name in ("strides", "padding", "dilation"))
    return data[0], weight[0], *window_counts(data[2:], weight[2:], strides, padding, dilation)


def _compute(name: str, tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    data, weight = tensors
    strides, dilation, padding = (attributes[key] for key in ("strides", "dilation", "padding"))
    count = len(strides)
    letters = "dhw"[-count:]
    filters_per_group = weight.shape[0] // attributes["groups"]
    padded = pad_stage(data, [0, 0, *padding[:count]], [0, 0, *padding[count:]], 0.0)
    channel = reduce_axis(weight.shape[1], "ic")
    taps = [
        reduce_axis(n, f"k{letter}") for n, letter in zip(weight.shape[2:], letters, strict=True)
    ]

    def element(n: Axis, oc: Axis, *place: Axis) -> Reduction:
        source = [
            at * s + tap * d for at, s, tap, d in zip(place, strides, taps, dilation, strict=True)
        ]
        group = oc // filters_per_group if attributes["groups"] > 1 else 0
        product = (
            padded[(n, channel + group * channel.extent, *source)] * weight[(oc, channel, *taps)]
        )
        return reduce_sum(product, channel, *taps)

    shape = _shape(data.shape, weight.shape, attributes)
    return compute(name, shape, element, axes=["n", "oc", *(f"o{letter}" for letter in letters)])


def _room(value: Any) -> list[int]:
    listed = integers(value)
    listed = listed * 2 if len(listed) == 1 else listed
    if len(listed) != 2 or min(listed) < 0:
        raise ValueError(f"expected 2 numbers, none negative, got {value!r}")
    check_steps(listed)
    return listed


def _transposed_shape(
    data: Sequence[int], weight: Sequence[int], attributes: Attributes
) -> tuple[int, ...]:
    padding, more = attributes["padding"], attributes["output_padding"]
    sizes = [
        (n - 1) * s + k - padding[d] - padding[2 + d] + more[d]
        for d, (n, s, k) in enumerate(zip(data[2:], attributes["strides"], weight[2:], strict=True))
    ]
    return data[0], weight[0], *sizes


def _transposed_operations(inputs: Inputs, attributes: Attributes) -> int:
    """A multiply-add a channel, filter of its group, pixel of the image and tap not cut off.

    The sums have as many taps for each residue as the one that has most.
    """
    data, weight = (spec.shape for spec in inputs)
    groups: int = attributes["groups"]
    axes = zip(
        data[2:],
        weight[2:],
        attributes["strides"],
        attributes["padding"][:2],
        _transposed_shape(data, weight, attributes)[2:],
        strict=True,
    )
    kept: list[int] = [
        sum(0 <= at * stride + tap - cut < size for at in range(pixels) for tap in range(taps))
        for pixels, taps, stride, cut, size in axes
    ]
    return 2 * prod(data[:2]) * weight[0] // groups * prod(kept)


def _transposed(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    """Place s*q + r of the whole result, with strides s: the sum over j of data[q - j] times
    weight[s*j + r].

    The residues r are apart, and no product is with a zero that lies between elements.
    """
    data, weight = tensors
    strides, cut = attributes["strides"], attributes["padding"][:2]
    shape = _transposed_shape(data.shape, weight.shape, attributes)
    taps = [-(-k // s) for k, s in zip(weight.shape[2:], strides, strict=True)]
    first = [p // s for p, s in zip(cut, strides, strict=True)]
    last = [(p + n - 1) // s for p, n, s in zip(cut, shape[2:], strides, strict=True)]
    before = [max(0, j - 1 - q) for j, q in zip(taps, first, strict=True)]
    after = [max(0, q + 1 - n) for q, n in zip(last, data.shape[2:], strict=True)]
    padded = pad_stage(data, [0, 0, *before], [0, 0, *after], 0.0)
    channel = reduce_axis(weight.shape[1], "ic")
    kh, kw = (reduce_axis(n, f"k{letter}") for n, letter in zip(taps, "hw", strict=True))
    filters_per_group = weight.shape[0] // attributes["groups"]

    def sum_of(n: Axis, oc: Axis, *place: Axis) -> Reduction:
        source, tap, exists = [], [], []
        for d, (j, r, q) in enumerate(zip((kh, kw), place[:2], place[2:], strict=True)):
            source.append(q - j + (first[d] + before[d]))
            tap.append(j * strides[d] + r)
            if weight.shape[2 + d] % strides[d]:
                exists.append(lt(tap[d], weight.shape[2 + d]))
        group = oc // filters_per_group if attributes["groups"] > 1 else 0
        product = (
            padded[(n, channel + group * channel.extent, *source)] * weight[(oc, channel, *tap)]
        )
        term = select(logical_and(*exists), product, 0.0) if exists else product
        return reduce_sum(term, channel, kh, kw)

    counts = [q - p + 1 for p, q in zip(first, last, strict=True)]
    sums = compute(
        "sums",
        (*shape[:2], *strides, *counts),
        sum_of,
        axes=["n", "oc", "rh", "rw", "qh", "qw"],
    )

    def element(n: Axis, oc: Axis, oh: Axis, ow: Axis) -> Value:
        places = [at + p % s for at, p, s in zip((oh, ow), cut, strides, strict=True)]
        residues = (at % s for at, s in zip(places, strides, strict=True))
        return sums[(n, oc, *residues, *(at // s for at, s in zip(places, strides, strict=True)))]

    return compute("conv2d_transpose", shape, element)


def _convolution(name: str, count: int, letters: str) -> OperatorDef:
    return OperatorDef(
        name,
        (
            Operand("data", linear=((0, 0),)),
            Operand("weight", letters, "constant", "weight", linear=((0, 1),)),
        ),
        partial(_infer, _shape),
        partial(_compute, name),
        numpy_reference(name),
        (
            Attribute("strides", extents(count), 1),
            Attribute("padding", margins(count), 0),
            Attribute("dilation", extents(count), 1),
            Attribute("groups", integer, 1),
        ),
        values="number",
    )


OPERATORS = (
    _convolution("conv2d", 2, "OIHW"),
    _convolution("conv1d", 1, "OIW"),
    _convolution("conv3d", 3, "OIDHW"),
    OperatorDef(
        "conv2d_transpose",
        (
            Operand("data", linear=((0, 0),)),
            Operand("weight", "OIHW", "constant", "weight", linear=((0, 1),)),
        ),
        partial(_infer, _transposed_shape),
        _transposed,
        numpy_reference("conv2d_transpose"),
        (
            Attribute("strides", extents(2), 1),
            Attribute("padding", margins(2), 0),
            Attribute("output_padding", _room, 0),
            Attribute("groups", integer, 1),
        ),
        _transposed_operations,
        values="number",
    ),
)
