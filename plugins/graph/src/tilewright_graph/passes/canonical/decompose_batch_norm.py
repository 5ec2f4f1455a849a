"""Batch normalisation as what it is at inference: a multiply and an add."""

from __future__ import annotations

import numpy as np

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network, Node
from tilewright_graph.passes.rewrite import rewrite
from tilewright_tensor.operators.operators import Operators


def decompose_batch_norm(network: Network, operators: Operators) -> Network:
    """The network with every batch_norm of constant statistics as `multiply`, `add`."""
    return rewrite(network, operators, _decompose)


def _decompose(node: Node, _network: Network, builder: NetworkBuilder) -> str | None:
    if node.operator != "batch_norm":
        return None
    data, *statistics = node.inputs
    if not all(name in builder.constants for name in statistics):
        return None
    gamma, beta, mean, variance = (
        builder.constants[name].astype(np.float64) for name in statistics
    )
    scale = gamma / np.sqrt(variance + node.attributes["epsilon"])
    spec = builder.specs[data]
    shape = (1, -1, *[1] * (len(spec.shape) - 2))
    factor = builder.constant(scale.reshape(shape).astype(spec.dtype), f"{node.name}_scale")
    shift = builder.constant(
        (beta - mean * scale).reshape(shape).astype(spec.dtype), f"{node.name}_shift"
    )
    product = builder.apply("multiply", (data, factor), name=f"{node.name}_multiply")
    return builder.apply("add", (product, shift), name=node.name, output=node.output)
