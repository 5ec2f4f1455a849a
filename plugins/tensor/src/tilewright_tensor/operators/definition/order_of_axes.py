"""Finds operators that only give the axes of their operand another order."""

from __future__ import annotations

from tilewright_tensor.expressions.expr import Read
from tilewright_tensor.ir.dag import placeholder
from tilewright_tensor.operators.definition.attribute import Attributes
from tilewright_tensor.operators.definition.operator_def import Inputs, OperatorDef


def order_of_axes(
    definition: OperatorDef, inputs: Inputs, attributes: Attributes
) -> tuple[int, ...] | None:
    """For each axis of the output which axis of the one operand it is, as the definition says.

    None where the output is anything else than the operand's elements in another order of axes.
    """
    if definition.random or definition.view or definition.program or len(inputs) != 1:
        return None
    (spec,) = inputs
    operand = placeholder(definition.operand(0).name, spec.shape, spec.dtype)
    made = definition.compute([operand], definition.complete(attributes))
    read = made.body
    if made.combiner is not None or not isinstance(read, Read) or read.tensor is not operand:
        return None
    own = [axis.affine() for axis in made.axes]
    if made.dtype != spec.dtype or set(own) != set(read.indices) or len(own) != len(spec.shape):
        return None
    order = tuple(read.indices.index(axis) for axis in own)
    return order if made.shape == tuple(spec.shape[axis] for axis in order) else None
