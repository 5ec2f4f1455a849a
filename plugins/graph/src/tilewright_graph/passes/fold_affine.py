"""Constant factors and summands: gathered, and moved into the weights where there are some."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network, Node
from tilewright_graph.passes.rewrite import rewrite
from tilewright_tensor.operators.operators import Operators

_LINEAR = ("conv1d", "conv2d", "dense")
"""Operators linear in their weights, operand 1, whose first axis is the output's axis 1."""


def fold_affine(network: Network, operators: Operators) -> Network:
    """The network with constants gathered: in weights, else one factor and one summand.

    `x*a*b` becomes `x*(ab)`, `x+a+b` becomes `x+(a+b)`, `(x+a)*b` becomes `x*b + ab`, and a factor
    for each channel behind a convolution or dense layer goes into its weights; all in float64.
    Whole numbers, which wrap around, are left alone, and so is what would leave the dtype's range.
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
    if node.operator == "multiply" and inner.operator in _LINEAR:
        return _into_weights(node, inner, second, builder)
    below = _data_and_constant(inner, builder)
    if below is None or (node.operator, inner.operator) == ("add", "multiply"):
        return None
    data, first = below
    if node.operator == "add":
        steps = [("add", first + second)]
    elif inner.operator == "multiply":
        steps = [("multiply", first * second)]
    else:
        steps = [("multiply", second), ("add", first * second)]
    dtype = builder.specs[data].dtype
    if not all(_in_range(*step, dtype) for step in steps):
        return None
    *inner_steps, (operator, value) = steps
    for step, constant in inner_steps:
        operands = data, _constant(constant, dtype, node, builder)
        data = builder.apply(step, operands, name=f"{node.name}_{step}")
    operands = data, _constant(value, dtype, node, builder)
    return builder.apply(operator, operands, name=node.name, output=node.output)


def _into_weights(node: Node, layer: Node, factor: Any, builder: NetworkBuilder) -> str | None:
    """The layer with scaled weights, where the factor differs by output channel only."""
    weight = builder.constants.get(layer.inputs[1])
    if weight is None or any(extent != 1 for axis, extent in enumerate(factor.shape) if axis != 1):
        return None
    scaled = weight * factor.reshape(-1, *[1] * (weight.ndim - 1))
    largest = np.abs(scaled).max(axis=tuple(range(1, weight.ndim)))
    if not _in_range("multiply", largest, weight.dtype):
        return None
    inputs = (layer.inputs[0], builder.constant(scaled.astype(weight.dtype), layer.inputs[1]))
    return builder.apply(
        layer.operator, inputs, layer.attributes, name=layer.name, output=node.output
    )


def _data_and_constant(node: Node, builder: NetworkBuilder) -> tuple[str, Any] | None:
    """(data, constant in float64) of an add or multiply that keeps the shape of the data."""
    if (
        node.operator not in ("add", "multiply")
        or "float" not in builder.specs[node.inputs[0]].dtype
    ):
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
    vanished = operator == "multiply" and ((held == 0) & (values != 0)).any()
    return bool(np.isfinite(held).all() and not vanished)


def _constant(value: Any, dtype: str, node: Node, builder: NetworkBuilder) -> str:
    return builder.constant(value.astype(dtype), f"{node.name}_constant")
