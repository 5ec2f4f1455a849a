"""Convolutions of one to three spatial axes; a depthwise one has as many groups as channels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from tilewright_tensor.ir.dag import compute, reduce_axis, reduce_sum
from tilewright_tensor.operators.builtin.padding import pad_stage
from tilewright_tensor.operators.builtin.window_counts import window_counts
from tilewright_tensor.operators.definition.attribute import (
    Attribute,
    Attributes,
    extents,
    integer,
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
    from tilewright_tensor.expressions.tensor import Axis, Tensor
    from tilewright_tensor.ir.dag import Reduction


def _infer(inputs: Inputs, attributes: Attributes) -> tuple[tuple[int, ...], str]:
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
    return _shape(data.shape, weight.shape, attributes), one_dtype(inputs)


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


def _convolution(name: str, count: int, letters: str) -> OperatorDef:
    return OperatorDef(
        name,
        (
            Operand("data", linear=((0, 0),)),
            Operand("weight", letters, "constant", "weight", linear=((0, 1),)),
        ),
        _infer,
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
)
