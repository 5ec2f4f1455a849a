"""Concats of very many tensors."""

from __future__ import annotations

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.expression_size import MOST_OPERANDS
from tilewright_graph.network.network import Network, Node
from tilewright_graph.passes.rewrite import rewrite
from tilewright_tensor.operators.operators import Operators


def split_joins(network: Network, operators: Operators) -> Network:
    """The network with every concat of more tensors as a concat of concats."""
    return rewrite(network, operators, _split)


def _split(node: Node, _network: Network, builder: NetworkBuilder) -> str | None:
    if not builder.operators[node.operator].concatenates or len(node.inputs) <= MOST_OPERANDS:
        return None
    parts = [
        node.inputs[begin : begin + MOST_OPERANDS]
        for begin in range(0, len(node.inputs), MOST_OPERANDS)
    ]
    joined = [
        builder.apply(node.operator, part, node.attributes, name=f"{node.name}_part")
        if len(part) > 1
        else part[0]
        for part in parts
    ]
    return builder.apply(node.operator, joined, node.attributes, name=node.name, output=node.output)
