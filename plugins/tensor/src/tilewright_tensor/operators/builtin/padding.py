"""Padding: the operator, and the stage that convolutions and poolings begin with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright_tensor.expressions.expr import as_value, ge, logical_and, lt, select
from tilewright_tensor.ir.dag import compute
from tilewright_tensor.operators.definition.attribute import (
    Attribute,
    Attributes,
    check_steps,
    integers,
    number,
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


def copy_stage(name: str, data: Tensor) -> Tensor:
    """The tensor once more."""
    return compute(name, data.shape, lambda *place: data[place], axes=axis_names(len(data.shape)))


def pad_stage(
    data: Tensor, before: Sequence[int], after: Sequence[int], value: Value | float
) -> Tensor:
    """The tensor with a margin of a value around it; itself where every margin is 0."""
    if not any(before) and not any(after):
        return data
    shape = [b + n + a for b, n, a in zip(before, data.shape, after, strict=True)]

    def element(*place: Axis) -> Value:
        inside = []
        for axis, begin, end, extent in zip(place, before, after, data.shape, strict=True):
            inside += [ge(axis, begin)] if begin else []
            inside += [lt(axis, begin + extent)] if end else []
        source = tuple(axis - begin for axis, begin in zip(place, before, strict=True))
        return select(logical_and(*inside), data[source], value)

    return compute("pad", shape, element, axes=axis_names(len(shape)))


def _pad_infer(inputs: Inputs, attributes: Attributes) -> tuple[tuple[int, ...], str]:
    shape, padding = inputs[0].shape, attributes["padding"]
    expect(
        len(padding) == 2 * len(shape),
        f"expected {2 * len(shape)} numbers in padding, all begins first, got {len(padding)}",
    )
    expect(min(padding, default=0) >= 0, f"padding {padding} is negative: use slice")
    check_steps(padding)
    begins, ends = padding[: len(shape)], padding[len(shape) :]
    as_value(attributes["value"], inputs[0].dtype)
    return tuple(b + n + e for b, n, e in zip(begins, shape, ends, strict=True)), inputs[0].dtype


def _pad_compute(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    rank, padding = len(tensors[0].shape), attributes["padding"]
    if not any(padding):
        return copy_stage("pad", tensors[0])
    return pad_stage(tensors[0], padding[:rank], padding[rank:], attributes["value"])


OPERATORS = (
    OperatorDef(
        "pad",
        (Operand("data"),),
        _pad_infer,
        _pad_compute,
        numpy_reference("pad"),
        (Attribute("padding", integers), Attribute("value", number, 0.0)),
    ),
)
