"""Elements at places that another tensor names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright_tensor.expressions.dtype import DATA_TYPES, is_whole
from tilewright_tensor.expressions.expr import cast, lt, select
from tilewright_tensor.expressions.lookup import lookup
from tilewright_tensor.ir.dag import compute
from tilewright_tensor.operators.definition.attribute import (
    Attribute,
    Attributes,
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
    from tilewright_tensor.expressions.expr import Value
    from tilewright_tensor.expressions.tensor import Axis, Tensor


def _axis(inputs: Inputs, attributes: Attributes) -> int:
    data, indices = inputs
    rank, axis = len(data.shape), int(attributes["axis"])
    expect_axis(axis, rank)
    expect(is_whole(indices.dtype), f"expected whole numbers as indices, got {indices.dtype}")
    return axis % rank


def _take_infer(inputs: Inputs, attributes: Attributes) -> tuple[tuple[int, ...], str]:
    data, indices = inputs
    axis = _axis(inputs, attributes)
    return (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :]), data.dtype


def _take_compute(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    data, indices = tensors
    axis = attributes["axis"] % len(data.shape)
    end, extent = axis + len(indices.shape), data.shape[axis]
    shape = (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])

    def element(*place: Axis) -> Value:
        found = _from_front(indices[place[axis:end]], indices.dtype, extent)
        return data[(*place[:axis], lookup(found, extent), *place[end:])]

    return compute("take", shape, element, axes=axis_names(len(shape)))


def _from_front(index: Value, dtype: str, extent: int) -> Value:
    if DATA_TYPES[dtype].kind == "uint":
        return index
    found = cast(index, "int64")
    return select(lt(found, 0), found + extent, found)


def _take_elements_infer(inputs: Inputs, attributes: Attributes) -> tuple[tuple[int, ...], str]:
    data, indices = inputs
    axis = _axis(inputs, attributes)
    fits = len(data.shape) == len(indices.shape) and all(
        wanted <= extent
        for d, (wanted, extent) in enumerate(zip(indices.shape, data.shape, strict=True))
        if d != axis
    )
    expect(fits, f"indices {list(indices.shape)} do not lie in data {list(data.shape)}")
    return indices.shape, data.dtype


def _take_elements_compute(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    data, indices = tensors
    axis = attributes["axis"] % len(data.shape)
    extent = data.shape[axis]

    def element(*place: Axis) -> Value:
        found = _from_front(indices[place], indices.dtype, extent)
        return data[(*place[:axis], lookup(found, extent), *place[axis + 1 :])]

    shape = indices.shape
    return compute("take_elements", shape, element, axes=axis_names(len(shape)))


OPERATORS = (
    # places below 0 count from the end; those beyond an end are those at the end
    OperatorDef(
        "take",
        (Operand("data"), Operand("indices")),
        _take_infer,
        _take_compute,
        numpy_reference("take"),
        (Attribute("axis", integer, 0, from_front),),
    ),
    # for each place of the indices, the element of that place but for the axis
    OperatorDef(
        "take_elements",
        (Operand("data"), Operand("indices")),
        _take_elements_infer,
        _take_elements_compute,
        numpy_reference("take_elements"),
        (Attribute("axis", integer, 0, from_front),),
    ),
)
