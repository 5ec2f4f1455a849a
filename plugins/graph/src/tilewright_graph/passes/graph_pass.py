"""What a pass over a network is, and how passes are applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import product
from operator import attrgetter

from tilewright.strategies.strategy import Strategy
from tilewright_graph.network.network import Network
from tilewright_tensor.operators.operators import Operators

GraphPass = Callable[[Network, Operators], Network]
"""Gives a network with the same inputs, outputs and observed tensors, by name and value, or the
very same object where there is nothing to do."""

_MOST_ROUNDS = 50
_name = attrgetter("name")


class Phase(IntEnum):
    """When a pass runs. A phase's passes run until none changes the network, in any order."""

    CANONICAL = 1  # one way to say each thing: no batch_norm, no identities, operands of full rank
    FOLD = 2  # arithmetic on constants


@dataclass(frozen=True, slots=True)
class GraphPassEntry:
    """A pass as plugins register it; `load` imports and returns it.

    after   whether it runs after its phase, on a network that the phase's passes leave as it is;
            passes after a phase run until none of them changes the network, too
    makes   an operator that it makes of several others; empty: it makes the networks of all targets
            alike. It only runs for targets with a strategy that names the operator: elsewhere the
            others are faster
    """

    name: str
    phase: Phase
    load: Callable[[], GraphPass]
    after: bool = False
    makes: str = ""


def passes_for(
    kind: str, entries: Sequence[GraphPassEntry], strategies: Iterable[Strategy]
) -> list[GraphPassEntry]:
    """The passes that run for a kind of target with these strategies."""
    named = {
        operator
        for strategy in strategies
        if kind in strategy.target_kinds
        for operator in strategy.operators
    }
    return [entry for entry in entries if not entry.makes or entry.makes in named]


def apply_passes(
    network: Network, entries: Sequence[GraphPassEntry], operators: Operators
) -> Network:
    """The network after all passes, phase by phase. Raises RuntimeError where they never rest."""
    for phase, after in product(Phase, (False, True)):
        taken = sorted((e for e in entries if (e.phase, e.after) == (phase, after)), key=_name)
        passes = [entry.load() for entry in taken]
        for _ in range(_MOST_ROUNDS):
            before = network
            for apply in passes:
                network = apply(network, operators)
            if network is before:
                break
        else:
            names = ", ".join(entry.name for entry in taken)
            raise RuntimeError(f"{network.name}: graph passes never come to rest: {names}")
    return network
