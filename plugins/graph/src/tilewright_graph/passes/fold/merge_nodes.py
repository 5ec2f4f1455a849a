"""Nodes that compute the same."""

from __future__ import annotations

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network, Node
from tilewright_graph.passes.rewrite import rewrite
from tilewright_tensor.operators.operators import Operators


def merge_nodes(network: Network, operators: Operators) -> Network:
    """The network with one node where several apply an operator to the same tensors.

    The operands of a commutative operator may come in either order; random numbers are drawn by
    each node for itself. Results keep their names.
    """
    made: dict[tuple[str, ...], str] = {}

    def merge(node: Node, network: Network, _builder: NetworkBuilder) -> str | None:
        definition = operators[node.operator]
        if definition.random:
            return None
        operands = sorted(node.inputs) if definition.commutative else node.inputs
        # attributes as they are written, which tells -0.0 from 0.0
        applied = node.operator, repr(sorted(node.attributes.items())), *operands
        first = made.setdefault(applied, node.output)
        return None if first == node.output or node.output in network.results else first

    return rewrite(network, operators, merge)
