"""Pooling over the two spatial axes of NCHW."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING

from tilewright_tensor.expressions.expr import cast, maximum, minimum
from tilewright_tensor.ir.dag import MAX, compute, reduce_axis, reduce_max, reduce_sum
from tilewright_tensor.operators.builtin.padding import pad_stage
from tilewright_tensor.operators.builtin.window_counts import window_counts
from tilewright_tensor.operators.definition.attribute import (
    Attribute,
    Attributes,
    extents,
    flag,
    margins,
)
from tilewright_tensor.operators.definition.operator_def import (
    Inputs,
    Operand,
    OperatorDef,
    expect,
    numpy_reference,
)
from tilewright_tensor.operators.definition.places import axis_names

if TYPE_CHECKING:
    from tilewright_tensor.expressions.expr import Value
    from tilewright_tensor.expressions.tensor import Axis, Tensor
    from tilewright_tensor.ir.dag import Reduction

_ATTRIBUTES = (
    Attribute("pool_size", extents(2)),
    Attribute("strides", extents(2), 1),
    Attribute("padding", margins(2), 0),
    Attribute("ceil_mode", flag, False),
)


def _infer(inputs: Inputs, attributes: Attributes) -> tuple[tuple[int, ...], str]:
    shape, window, padding = inputs[0].shape, attributes["pool_size"], attributes["padding"]
    expect(len(shape) == 4, f"expected data of rank 4, got {list(shape)}")
    expect(
        all(p < k for p, k in zip(padding, window * 2, strict=True)),
        f"padding {list(padding)} must be smaller than pool_size {list(window)}",
    )
    return (*shape[:2], *_places(shape, attributes)), inputs[0].dtype


def _places(shape: Sequence[int], attributes: Attributes) -> tuple[int, ...]:
    window, strides, padding = (attributes[name] for name in ("pool_size", "strides", "padding"))
    return window_counts(shape[2:], window, strides, padding, ceil=attributes["ceil_mode"])


def _ends(shape: Sequence[int], attributes: Attributes) -> list[int]:
    """Margins at the end that the windows reach; beyond the padding where a last one sticks out."""
    window, strides, padding = (attributes[name] for name in ("pool_size", "strides", "padding"))
    places = _places(shape, attributes)
    return [
        max(0, (places[d] - 1) * strides[d] + window[d] - padding[d] - shape[2 + d])
        for d in range(2)
    ]


def pooled(
    name: str, tensors: Sequence[Tensor], attributes: Attributes, *, by_columns: bool = False
) -> Tensor:
    """`max_pool2d` or `avg_pool2d`, the last stage of it.

    `by_columns`: windows are made of their columns, stage `columns`, which neighbours share.
    """
    data = tensors[0]
    maximal = name == "max_pool2d"
    begins, ends = attributes["padding"][:2], _ends(data.shape, attributes)
    padded = pad_stage(
        data, [0, 0, *begins], [0, 0, *ends], MAX.identity(data.dtype) if maximal else 0.0
    )
    window, strides = attributes["pool_size"], attributes["strides"]
    kh, kw = reduce_axis(window[0], "kh"), reduce_axis(window[1], "kw")
    reduced = reduce_max if maximal else reduce_sum

    def column(n: Axis, c: Axis, oh: Axis, iw: Axis) -> Reduction:
        return reduced(padded[n, c, oh * strides[0] + kh, iw], kh)

    shape = (*data.shape[:2], *_places(data.shape, attributes))
    if by_columns:
        columns = compute("columns", (*shape[:3], padded.shape[3]), column)

    def combined(n: Axis, c: Axis, oh: Axis, ow: Axis) -> Reduction:
        if by_columns:
            return reduced(columns[n, c, oh, ow * strides[1] + kw], kw)
        return reduced(padded[n, c, oh * strides[0] + kh, ow * strides[1] + kw], kh, kw)

    if maximal:
        return compute(name, shape, combined)
    total = compute("window_sum", shape, combined)
    mean = partial(_mean, total, data.shape, attributes, ends)
    return compute(name, shape, mean, axes=[axis.name for axis in total.axes])


def _mean(
    total: Tensor, data: Sequence[int], attributes: Attributes, ends: Sequence[int], *place: Axis
) -> Value:
    counts = []
    for d, axis in enumerate(place[2:]):
        window, stride = attributes["pool_size"][d], attributes["strides"][d]
        before, after = attributes["padding"][d], attributes["padding"][2 + d]
        counted_before, counted_after = (
            (before, after) if attributes["count_include_pad"] else (0, 0)
        )
        begin = axis * stride - before
        if before > counted_before or ends[d] > counted_after:
            counts.append(
                minimum(begin + window, data[2 + d] + counted_after)
                - maximum(begin, -counted_before)
            )
        else:
            counts.append(window)
    divisor = counts[0] * counts[1]
    return total[place] / (divisor if isinstance(divisor, int) else cast(divisor, total.dtype))


def _global_infer(inputs: Inputs, _attributes: Attributes) -> tuple[tuple[int, ...], str]:
    shape = inputs[0].shape
    expect(len(shape) == 4, f"expected data of rank 4, got {list(shape)}")
    return (*shape[:2], 1, 1), inputs[0].dtype


def _global_compute(tensors: Sequence[Tensor], _attributes: Attributes) -> Tensor:
    data = tensors[0]
    ih, iw = reduce_axis(data.shape[2], "ih"), reduce_axis(data.shape[3], "iw")
    shape = (*data.shape[:2], 1, 1)

    def whole(n: Axis, c: Axis, *_: Axis) -> Reduction:
        return reduce_sum(data[n, c, ih, iw], ih, iw)

    total = compute("image_sum", shape, whole, axes=axis_names(4))
    count = prod(data.shape[2:])
    return compute("global_avg_pool2d", shape, lambda n, c, h, w: total[n, c, h, w] / count)


OPERATORS = (
    OperatorDef(
        "max_pool2d",
        (Operand("data"),),
        _infer,
        partial(pooled, "max_pool2d"),
        numpy_reference("max_pool2d"),
        _ATTRIBUTES,
        values="float",
    ),
    OperatorDef(
        "avg_pool2d",
        (Operand("data"),),
        _infer,
        partial(pooled, "avg_pool2d"),
        numpy_reference("avg_pool2d"),
        (*_ATTRIBUTES, Attribute("count_include_pad", flag, False)),
        values="float",
    ),
    OperatorDef(
        "global_avg_pool2d",
        (Operand("data"),),
        _global_infer,
        _global_compute,
        numpy_reference("global_avg_pool2d"),
        values="float",
    ),
)
