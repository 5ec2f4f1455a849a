"""What a pass over a network is, and how passes are applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from tilewright_graph.network import Network
from tilewright_tensor.operators.operators import Operators

GraphPass = Callable[[Network, Operators], Network]
"""Gives a network with the same inputs, outputs and observed tensors, by name and value, or the
very same object where there is nothing to do."""

_MOST_ROUNDS = 50


class Phase(IntEnum):
    """When a pass runs. A phase's passes run until none changes the network, in any order."""

    CANONICAL = 1  # one way to say each thing: no batch_norm, no identities, operands of full rank
    FOLD = 2  # arithmetic on constants


@dataclass(frozen=True, slots=True)
class GraphPassEntry:
    """A pass as plugins register it; `load` imports and returns it."""

    name: str
    phase: Phase
    load: Callable[[], GraphPass]


def apply_passes(
    network: Network, entries: Sequence[GraphPassEntry], operators: Operators
) -> Network:
    """The network after all passes, phase by phase. Raises RuntimeError where they never rest."""
    for phase in Phase:
        passes = [e.load() for e in sorted(entries, key=lambda e: e.name) if e.phase == phase]
        for _ in range(_MOST_ROUNDS):
            before = network
            for apply in passes:
                network = apply(network, operators)
            if network is before:
                break
        else:
            names = ", ".join(e.name for e in entries if e.phase == phase)
            raise RuntimeError(f"{network.name}: graph passes never come to rest: {names}")
    return network
