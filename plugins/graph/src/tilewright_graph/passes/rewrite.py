"""A network rebuilt node by node under a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network, Node
from tilewright_tensor.operators.operators import Operators

Rule = Callable[[Node, Network, NetworkBuilder], str | None]
"""Given a node (operands renamed), the network before, and the builder with all nodes before
it: the tensor that takes the place of the node's output, or None to keep the node.

What replaces a result must keep its name: give the last node the output of the one it replaces."""


def rewrite(network: Network, operators: Operators, rule: Rule) -> Network:
    """The network under the rule, or the same object where the rule replaces nothing.

    Nodes that are no longer read stay; `remove_dead` removes them.
    """
    builder = NetworkBuilder.before(network, operators)
    renamed: dict[str, str] = {}
    changed = False
    for original in network.nodes:
        node = original
        if not renamed.keys().isdisjoint(original.inputs):
            node = replace(original, inputs=tuple(renamed.get(t, t) for t in original.inputs))
        taken = rule(node, network, builder)
        if taken is None:
            builder.adopt(node, network)
            continue
        changed = True
        renamed[node.output] = taken
    if not changed:
        return network
    return builder.network(network.outputs, network.observed, network.source)
