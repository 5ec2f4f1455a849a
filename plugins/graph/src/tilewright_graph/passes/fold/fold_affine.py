"""Constant factors and summands: gathered, and moved into the weights where there are some."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network, Node
from tilewright_graph.passes.rewrite import rewrite
from tilewright_tensor.expressions.dtype import is_float
from tilewright_tensor.operators.definition.operator_def import AxisPairs
from tilewright_tensor.operators.operators import Operators

_SUM = "add"
_PRODUCT = "multiply"


def fold_affine(network: Network, operators: Operators) -> Network:
    """The network with constants gathered: in weights, else one factor and one summand.

    `x*a*b` becomes `x*(ab)`, `x+a+b` becomes `x+(a+b)`, `(x+a)*b` becomes `x*b + ab`, and a factor
    behind any operator that is linear in a constant operand, such as one for each channel behind a
    convolution, goes into that constant; all in float64. Whole numbers, which wrap around, are left
    alone, and so is what would leave the dtype's range.
    """
    return rewrite(network, operators, _fold)


def _fold(node: Node, network: Network, builder: NetworkBuilder) -> str | None:
    split = _data_and_constant(node, builder)
    if split is None:
        return None
    data, second = split
    inner = builder.producer(data)
    if inner is None or network.readers.get(data) != 1:
        return None
    if node.operator == _PRODUCT and (taken := _into_operand(node, inner, second, builder)):
        return taken
    below = _data_and_constant(inner, builder)
    if below is None or inner.operator != _SUM:
        return None
    data, first = below
    steps = [(_SUM, first + second)]
    if node.operator == _PRODUCT:
        steps = [(_PRODUCT, second), (_SUM, first * second)]
    dtype = builder.specs[data].dtype
    if not all(_in_range(*step, dtype) for step in steps):
        return None
    *inner_steps, (operator, value) = steps
    for step, constant in inner_steps:
        operands = data, _constant(constant, dtype, node, builder)
        data = builder.apply(step, operands, name=f"{node.name}_{step}")
    operands = data, _constant(value, dtype, node, builder)
    return builder.apply(operator, operands, name=node.name, output=node.output)


def _into_operand(node: Node, layer: Node, factor: Any, builder: NetworkBuilder) -> str | None:
    """The layer with a scaled constant operand, where it is linear in one along the factor's axes.

    No filter, row or whatever else one factor is for, may vanish.
    """
    definition = builder.operators[layer.operator]
    varying = {axis for axis, extent in enumerate(factor.shape) if extent != 1}
    for position, name in enumerate(layer.inputs):
        weight = builder.constants.get(name)
        if weight is None or not is_float(str(weight.dtype)):
            continue
        pairs = definition.scaled_axes(position, weight.ndim, factor.ndim)
        if pairs is None or not varying.issubset(axis for _, axis in pairs):
            continue
        scaled = weight * _along(pairs, factor, weight.ndim)
        beside = set(range(weight.ndim)).difference(own for own, _ in pairs)
        if not _in_range(_PRODUCT, np.abs(scaled).max(axis=tuple(beside)), weight.dtype):
            continue
        constant = builder.constant(scaled.astype(weight.dtype), name)
        inputs = (*layer.inputs[:position], constant, *layer.inputs[position + 1 :])
        return builder.apply(
            layer.operator, inputs, layer.attributes, name=layer.name, output=node.output
        )
    return None


def _along(pairs: AxisPairs, factor: Any, rank: int) -> Any:
    """A factor of the output as one of an operand, by pairs of axes; elsewhere it has extent 1."""
    ordered = [axis for _, axis in sorted(pairs)]
    beside = [axis for axis in range(factor.ndim) if axis not in ordered]
    shape = [1] * rank
    for own, axis in pairs:
        shape[own] = factor.shape[axis]
    return factor.transpose([*ordered, *beside]).reshape(shape)


def _data_and_constant(node: Node, builder: NetworkBuilder) -> tuple[str, Any] | None:
    """(data, constant in float64) of a sum or product that keeps the shape of the data."""
    if _SUM != node.operator != _PRODUCT or not is_float(builder.specs[node.inputs[0]].dtype):
        return None
    for data, constant in (node.inputs, node.inputs[::-1]):
        fits = all(
            b in (1, a)
            for a, b in zip(builder.specs[data].shape, builder.specs[constant].shape, strict=True)
        )
        if constant in builder.constants and fits:
            return data, builder.constants[constant].astype(np.float64)
    return None


def _in_range(operator: str, values: Any, dtype: Any) -> bool:
    """Whether the dtype has these numbers: none becomes infinite, and no factor becomes 0."""
    with np.errstate(over="ignore", under="ignore"):
        held = values.astype(dtype)
    vanished = operator == _PRODUCT and ((held == 0) & (values != 0)).any()
    return bool(np.isfinite(held).all() and not vanished)


def _constant(value: Any, dtype: str, node: Node, builder: NetworkBuilder) -> str:
    return builder.constant(value.astype(dtype), f"{node.name}_constant")
