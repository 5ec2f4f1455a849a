"""Where along an axis the largest or smallest element is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tilewright_tensor.expressions import expr as e
from tilewright_tensor.expressions.dtype import is_float
from tilewright_tensor.ir.dag import compute, reduce_axis, reduce_max, reduce_min
from tilewright_tensor.operators.definition.attribute import (
    Attribute,
    Attributes,
    flag,
    from_front,
    integer,
)
from tilewright_tensor.operators.definition.operator_def import (
    Inputs,
    Operand,
    OperatorDef,
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
)
