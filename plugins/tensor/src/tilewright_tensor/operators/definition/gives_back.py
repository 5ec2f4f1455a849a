"""Finds operators that give their operand back."""

from __future__ import annotations

from tilewright_tensor.expressions.expr import Read
from tilewright_tensor.ir.dag import placeholder
from tilewright_tensor.operators.definition.attribute import Attributes
from tilewright_tensor.operators.definition.operator_def import Inputs, OperatorDef


def gives_back(definition: OperatorDef, inputs: Inputs, attributes: Attributes) -> bool:
    """Whether the output is the one operand, element for element, as its definition says."""
    if definition.random or len(inputs) != 1:
        return False
    (spec,) = inputs
    if definition.view:
        return definition.infer(inputs, attributes)[0] == spec.shape
    operand = placeholder(definition.operand(0).name, spec.shape, spec.dtype)
    made = definition.compute([operand], attributes)
    if made.combiner is not None or (made.shape, made.dtype) != (spec.shape, spec.dtype):
        return False
    read, own = made.body, tuple(axis.affine() for axis in made.axes)
    return isinstance(read, Read) and read.tensor is operand and read.indices == own
