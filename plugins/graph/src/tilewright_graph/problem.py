"""The choice of one candidate a node as numbers only; what every graph tuner solves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

Matrix = tuple[tuple[float | None, ...], ...]
"""Seconds by (producer's candidate, consumer's candidate); None: the pair cannot be."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Minimise the sum of the chosen candidates' costs and of the matrices' entries between them.

    costs   seconds of each candidate of each node; nodes in topological order, at least one
            candidate each
    edges   matrix of each pair (producer, consumer) that costs anything, producer < consumer
    """

    costs: tuple[tuple[float, ...], ...]
    edges: Mapping[tuple[int, int], Matrix]

    def cost(self, choice: Sequence[int]) -> float | None:
        """Seconds of a whole choice, None where it holds a forbidden pair."""
        total = sum(costs[pick] for costs, pick in zip(self.costs, choice, strict=True))
        for (producer, consumer), matrix in self.edges.items():
            entry = matrix[choice[producer]][choice[consumer]]
            if entry is None:
                return None
            total += entry
        return total

    def bound(self) -> float:
        """Seconds that no choice beats: every node and every edge at its own cheapest."""
        edges = (
            min((entry for row in matrix for entry in row if entry is not None), default=0.0)
            for matrix in self.edges.values()
        )
        return sum(map(min, self.costs)) + sum(edges)

    def possible(self) -> tuple[tuple[int, ...], ...]:
        """Each node's candidates that have a permitted, possible partner in every neighbour.

        What is left out stands in no permitted choice (arc consistency: Mackworth, "Consistency in
        Networks of Relations", 1977).
        """
        left = [set(range(len(costs))) for costs in self.costs]
        shrunk = True
        while shrunk:
            shrunk = False
            for (producer, consumer), matrix in self.edges.items():
                pairs = [
                    (p, c)
                    for p in left[producer]
                    for c in left[consumer]
                    if matrix[p][c] is not None
                ]
                for node, kept in (
                    (producer, {p for p, _ in pairs}),
                    (consumer, {c for _, c in pairs}),
                ):
                    shrunk |= kept != left[node]
                    left[node] = kept
        return tuple(tuple(sorted(picks)) for picks in left)


@dataclass(frozen=True, slots=True)
class Solution:
    """A candidate's index for each node, its cost, and a proven lower bound or None (seconds)."""

    choice: tuple[int, ...]
    cost: float
    bound: float | None = None


class GraphTuner(Protocol):
    """The role behind `tilewright_graph_tuners`: it sees numbers, never networks."""

    def solve(self, problem: Problem) -> Solution:
        """The best choice it finds. Raises ValueError where it finds none that is permitted."""
        ...
