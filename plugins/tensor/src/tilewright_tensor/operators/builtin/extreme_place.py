"""Where along an axis the largest or smallest elements are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from tilewright_tensor.expressions import expr as e
from tilewright_tensor.expressions.dtype import is_float
from tilewright_tensor.ir.dag import compute, reduce_axis, reduce_max, reduce_min, reduce_sum
from tilewright_tensor.operators.definition.attribute import (
    Attribute,
    Attributes,
    flag,
    from_back,
    from_front,
    integer,
)
from tilewright_tensor.operators.definition.operator_def import (
    Inputs,
    Operand,
    OperatorDef,
    expect,
    expect_axis,
    numpy_reference,
)
from tilewright_tensor.operators.definition.places import axis_names

if TYPE_CHECKING:
    from tilewright_tensor.expressions.tensor import Axis, Tensor
    from tilewright_tensor.ir.dag import Reduction


def _shape(shape: Sequence[int], attributes: Attributes) -> tuple[int, ...]:
    axis = attributes["axis"]
    expect_axis(axis, len(shape))
    end = axis % len(shape) + 1
    return (*shape[: end - 1], *([1] if attributes["keepdims"] else []), *shape[end:])


def _infer(inputs: Inputs, attributes: Attributes) -> tuple[tuple[int, ...], str]:
    return _shape(inputs[0].shape, attributes), "int64"


def _compute(name: str, tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    """The first place, or the last, of what equals the extreme; NaN is more extreme than all."""
    data = tensors[0]
    rank, axis = len(data.shape), attributes["axis"] % len(data.shape)
    extreme_of = reduce_max if name == "arg_max" else reduce_min
    place_of, nowhere = (reduce_max, -1) if attributes["last"] else (reduce_min, data.shape[axis])

    def lines(place: Sequence[Axis], along: Axis) -> tuple[Axis, ...]:
        behind = axis + 1 if len(place) == rank else axis
        return (*place[:axis], along, *place[behind:])

    def extreme(*place: Axis) -> Reduction:
        along = reduce_axis(data.shape[axis], "r")
        return extreme_of(data[lines(place, along)], along)

    shape = _shape(data.shape, attributes)
    extremes = compute(f"{name}_extreme", shape, extreme, axes=axis_names(len(shape)))

    def found(*place: Axis) -> Any:
        along = reduce_axis(data.shape[axis], "r")
        one = data[lines(place, along)]
        chosen: Any = e.eq(one, extremes[place])
        if is_float(data.dtype):
            chosen = e.logical_or(chosen, e.ne(one, one))
        return place_of(e.select(chosen, along, nowhere), along)

    return compute(name, shape, found, axes=axis_names(len(shape)))


def _top_infer(inputs: Inputs, attributes: Attributes) -> tuple[tuple[int, ...], str]:
    shape, axis, count = inputs[0].shape, attributes["axis"], attributes["count"]
    expect_axis(axis, len(shape))
    extent = shape[axis]
    expect(0 < count <= extent, f"expected a count of 1 to {extent} along the axis, got {count}")
    expect(extent < 1 << 31, f"an axis of {extent} elements is too long")
    return tuple(count if d == axis % len(shape) else n for d, n in enumerate(shape)), "int64"


def _top_compute(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    """Every element's rank is how many come before it; of each rank, the place that has it.

    NaN counts as infinity that is sought, and of equal elements the first comes before.
    """
    data, largest = tensors[0], attributes["largest"]
    axis, count = attributes["axis"] % len(data.shape), attributes["count"]
    names = axis_names(len(data.shape))
    if is_float(data.dtype):
        raw, most = data, inf if largest else -inf
        data = compute(
            "top_places_number",
            raw.shape,
            lambda *place: e.select(e.ne(raw[place], raw[place]), most, raw[place]),
            axes=names,
        )

    def rank(*place: Axis) -> Reduction:
        along = reduce_axis(data.shape[axis], "r")
        own, other = data[place], data[(*place[:axis], along, *place[axis + 1 :])]
        is_first = e.lt(e.cast(along, "int32"), e.cast(place[axis], "int32"))
        before: Any = e.lt(own, other) if largest else e.lt(other, own)
        before = e.logical_or(before, e.logical_and(e.eq(own, other), is_first))
        return reduce_sum(e.cast(before, "int32"), along)

    ranks = compute("top_places_rank", data.shape, rank, axes=names)

    def found(*place: Axis) -> Reduction:
        along = reduce_axis(data.shape[axis], "r")
        own = ranks[(*place[:axis], along, *place[axis + 1 :])]
        wanted = e.cast(place[axis], "int32")
        return reduce_sum(e.select(e.eq(own, wanted), along, 0), along)

    shape = [count if d == axis else n for d, n in enumerate(data.shape)]
    return compute("top_places", shape, found, axes=names)


OPERATORS = tuple(
    OperatorDef(
        name,
        (Operand("data"),),
        _infer,
        partial(_compute, name),
        numpy_reference(name),
        (
            Attribute("axis", integer, 0, from_front),
            Attribute("keepdims", flag, True),
            Attribute("last", flag, False),
        ),
    )
    for name in ("arg_max", "arg_min")
) + (
    # places of the largest or smallest `count`, the most extreme first
    OperatorDef(
        "top_places",
        (Operand("data"),),
        _top_infer,
        _top_compute,
        numpy_reference("top_places"),
        (
            Attribute("count", integer),
            Attribute("axis", integer, -1, from_back),
            Attribute("largest", flag, True),
        ),
        values="number",
    ),
)
