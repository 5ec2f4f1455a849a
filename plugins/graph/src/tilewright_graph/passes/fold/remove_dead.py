"""Nodes and constants that no result needs."""

from __future__ import annotations

from dataclasses import replace

from tilewright_graph.network.network import Network
from tilewright_tensor.operators.operators import Operators


def remove_dead(network: Network, _operators: Operators) -> Network:
    """The network without what no output and no observed tensor depends on; inputs stay."""
    needed = set(network.results)
    kept = []
    for node in reversed(network.nodes):
        if node.output in needed:
            kept.append(node)
            needed.update(node.inputs)
    constants = {name: array for name, array in network.constants.items() if name in needed}
    if len(kept) == len(network.nodes) and len(constants) == len(network.constants):
        return network
    alive = needed.union(network.inputs, (node.output for node in kept))
    return replace(
        network,
        nodes=tuple(reversed(kept)),
        constants=constants,
        specs={name: spec for name, spec in network.specs.items() if name in alive},
    )
