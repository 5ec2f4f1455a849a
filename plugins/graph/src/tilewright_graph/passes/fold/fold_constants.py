"""Replaces nodes whose operands are all constants by their results."""

from __future__ import annotations

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate_node
from tilewright_graph.network.network import Network, Node
from tilewright_graph.passes.rewrite import rewrite
from tilewright_tensor.operators.operators import Operators


def fold_constants(network: Network, operators: Operators) -> Network:
    """The network with every node on constants replaced by its value, computed in float64.

    Random numbers stay to be drawn.
    """

    def fold(node: Node, network: Network, builder: NetworkBuilder) -> str | None:
        if node.output in network.results or operators[node.operator].random:
            return None
        if not all(name in builder.constants for name in node.inputs):
            return None
        value = evaluate_node(node, builder.specs, builder.constants, operators)
        return builder.constant(value.astype(network.specs[node.output].dtype), node.output)

    return rewrite(network, operators, fold)
