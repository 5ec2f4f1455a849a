"""Operators that give the same elements another shape or order of axes, or repeat them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING

from tilewright_tensor.expressions.affine import floor_div, index, mod
from tilewright_tensor.ir.dag import compute
from tilewright_tensor.operators.definition.attribute import (
    Attribute,
    Attributes,
    from_front,
    integer,
    integers,
)
from tilewright_tensor.operators.definition.operator_def import (
    Inputs,
    Operand,
    OperatorDef,
    expect,
    numpy_reference,
)
from tilewright_tensor.operators.definition.places import (
    axis_names,
    broadcast_place,
    broadcast_shapes,
)

if TYPE_CHECKING:
    from tilewright_tensor.expressions.expr import Value
    from tilewright_tensor.expressions.tensor import Axis, Tensor

_DATA = (Operand("data"),)
Shape = tuple[int, ...]


def _reshaped(
    name: str, target: Callable[[Shape, Attributes], Shape], *attributes: Attribute
) -> OperatorDef:
    """An operator that keeps the elements in row-major order and gives them another shape."""

    def infer(inputs: Inputs, given: Attributes) -> tuple[Shape, str]:
        shape = target(inputs[0].shape, given)
        expect(
            prod(shape) == prod(inputs[0].shape),
            f"{list(inputs[0].shape)} and {list(shape)} differ in number of elements",
        )
        return shape, inputs[0].dtype

    def element_of(tensors: Sequence[Tensor], given: Attributes) -> Tensor:
        data = tensors[0]
        shape = target(data.shape, given)

        def element(*place: Axis) -> Value:
            position, bounds = index(0), {axis.var: (0, axis.extent - 1) for axis in place}
            for axis in place:
                position = position * axis.extent + axis
            source = []
            for d, extent in enumerate(data.shape):
                quotient = floor_div(position, prod(data.shape[d + 1 :]), bounds)
                source.append(mod(quotient, extent, bounds) if d else quotient)
            return data[tuple(source)]

        return compute(name, shape, element, axes=axis_names(len(shape)))

    return OperatorDef(name, _DATA, infer, element_of, numpy_reference(name), attributes, view=True)


def _wanted_shape(shape: Shape, attributes: Attributes) -> Shape:
    wanted = [
        shape[d] if n == 0 and d < len(shape) else n for d, n in enumerate(attributes["shape"])
    ]
    if wanted.count(-1) == 1:
        known = -prod(wanted)
        wanted[wanted.index(-1)] = prod(shape) // known if known else 0
    return tuple(wanted)


def _flat_shape(shape: Shape, attributes: Attributes) -> Shape:
    axis = attributes["axis"]
    expect(-len(shape) <= axis <= len(shape), f"axis {axis} does not exist in rank {len(shape)}")
    axis = axis if axis >= 0 else axis + len(shape)
    return prod(shape[:axis]), prod(shape[axis:])


def _order(rank: int, attributes: Attributes) -> list[int]:
    axes = attributes["axes"] or list(reversed(range(rank)))
    expect(sorted(axes) == list(range(rank)), f"axes {axes} are no permutation of rank {rank}")
    return list(axes)


def _transpose_infer(inputs: Inputs, attributes: Attributes) -> tuple[Shape, str]:
    shape = inputs[0].shape
    return tuple(shape[axis] for axis in _order(len(shape), attributes)), inputs[0].dtype


def _transpose_compute(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    data = tensors[0]
    order = _order(len(data.shape), attributes)
    return compute(
        "transpose",
        [data.shape[axis] for axis in order],
        lambda *place: data[tuple(place[order.index(d)] for d in range(len(order)))],
        axes=axis_names(len(order)),
    )


def _broadcast_infer(inputs: Inputs, attributes: Attributes) -> tuple[Shape, str]:
    shape, wanted = inputs[0].shape, tuple(attributes["shape"])
    expect(
        len(wanted) >= len(shape) and broadcast_shapes(shape, wanted) == wanted,
        f"{list(shape)} does not broadcast to {list(wanted)}",
    )
    return wanted, inputs[0].dtype


def _broadcast_compute(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    data, shape = tensors[0], attributes["shape"]
    return compute(
        "broadcast_to",
        shape,
        lambda *place: data[broadcast_place(place, data.shape)],
        axes=axis_names(len(shape)),
    )


OPERATORS = (
    _reshaped("reshape", _wanted_shape, Attribute("shape", integers)),
    _reshaped("flatten", _flat_shape, Attribute("axis", integer, 1, from_front)),
    OperatorDef(
        "transpose",
        _DATA,
        _transpose_infer,
        _transpose_compute,
        numpy_reference("transpose"),
        (Attribute("axes", integers, []),),
    ),
    OperatorDef(
        "broadcast_to",
        _DATA,
        _broadcast_infer,
        _broadcast_compute,
        numpy_reference("broadcast_to"),
        (Attribute("shape", integers),),
    ),
)
