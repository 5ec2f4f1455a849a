"""Nodes that change nothing."""

from __future__ import annotations

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network, Node
from tilewright_graph.passes.rewrite import rewrite
from tilewright_tensor.operators.operators import Operators


def drop_identities(network: Network, operators: Operators) -> Network:
    """The network without nodes that give their operand back.

    Identities, reshapes to the same shape, pads by nothing, transposes that keep the order, and
    concatenations of one. A result that only renames another tensor stays as a copy.
    """
    return rewrite(network, operators, _drop)


def _drop(node: Node, network: Network, _builder: NetworkBuilder) -> str | None:
    if node.output in network.results or not _changes_nothing(node, network):
        return None
    return node.inputs[0]


def _changes_nothing(node: Node, network: Network) -> bool:
    shape = network.specs[node.output].shape
    if node.operator in ("reshape", "flatten"):
        return network.specs[node.inputs[0]].shape == shape
    if node.operator == "transpose":
        return list(node.attributes["axes"]) == list(range(len(shape)))
    if node.operator == "pad":
        return not any(node.attributes["padding"])
    return node.operator == "identity" or (node.operator == "concat" and len(node.inputs) == 1)
