"""The choice of one candidate a node as numbers only; what every graph tuner solves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import hypot, inf, isfinite, isnan
from typing import Protocol

MAX_ERROR = "max-error"
"""A capability: graph tuners that have it keep to a problem's `max_error`."""

PROOF_TOLERANCE = 1e-9
"""Relative gap up to which a choice counts as proved; sums of floats cannot tell less apart."""

Matrix = tuple[tuple[float | None, ...], ...]
"""Seconds by (producer's candidate, consumer's candidate); None: the pair cannot be."""


@dataclass(frozen=True, slots=True)
class GraphProblem:
    """Minimise the sum of the chosen candidates' costs and of the matrices' entries between them.

    Raises ValueError where a matrix does not fit its pair of nodes, or something costs an infinity.

    costs      seconds of each candidate of each node; nodes in topological order, at least one
               candidate each
    edges      matrix of each pair (producer, consumer) that costs anything, producer < consumer
    errors     what each candidate of each node adds to the network's error, infinite where it is
               of no use; empty where nothing is asked of errors
    max_error  the most that a choice's `error` may be: graph tuners with the capability
               `max-error` keep to it
    """

    costs: tuple[tuple[float, ...], ...]
    edges: Mapping[tuple[int, int], Matrix]
    errors: tuple[tuple[float, ...], ...] = ()
    max_error: float = inf

    def __post_init__(self) -> None:
        sizes = [len(costs) for costs in self.costs]
        for node, size in enumerate(sizes):
            if not size:
                raise InfeasibleProblemError(f"node {node} has no candidate", (node,))
            if not _finite(self.costs[node]):
                raise ValueError(f"node {node}: expected finite costs, got {self.costs[node]}")
        for (producer, consumer), matrix in self.edges.items():
            if not 0 <= producer < consumer < len(sizes):
                raise ValueError(
                    f"edge ({producer}, {consumer}): expected producer < consumer < {len(sizes)}"
                )
            if {(len(matrix), len(row)) for row in matrix} != {(sizes[producer], sizes[consumer])}:
                raise ValueError(
                    f"edge ({producer}, {consumer}): expected a matrix of {sizes[producer]} rows "
                    f"of {sizes[consumer]}"
                )
            if not all(map(_finite, matrix)):
                raise ValueError(
                    f"edge ({producer}, {consumer}): expected finite costs, None where forbidden"
                )
        if self.errors and [len(errors) for errors in self.errors] != sizes:
            raise ValueError("errors: expected one for each candidate of each node")
        if any(isnan(one) or one < 0 for one in (self.max_error, *sum(self.errors, ()))):
            raise ValueError("errors: expected none below 0")

    def error(self, choice: Sequence[int]) -> float:
        """The network's error by a choice: the root of the sum of squares of what it adds up from.

        Rounding errors of different kernels are independent of each other.
        """
        return hypot(*(own[pick] for own, pick in zip(self.errors, choice, strict=False)))

    def cost(self, choice: Sequence[int]) -> float | None:
        """Seconds of a whole choice, None where it holds a forbidden pair or its error is above."""
        if self.error(choice) > self.max_error * (1 + PROOF_TOLERANCE):
            return None
        total = sum(costs[pick] for costs, pick in zip(self.costs, choice, strict=True))
        for (producer, consumer), matrix in self.edges.items():
            entry = matrix[choice[producer]][choice[consumer]]
            if entry is None:
                return None
            total += entry
        return total

    def solution(self, choice: Mapping[int, int], bound: float, note: str) -> Solution:
        """A permitted choice by node with its bound; the note where that is no proof."""
        picks = tuple(choice[node] for node in range(len(self.costs)))
        cost = self.cost(picks)
        assert cost is not None, "a solver gave a forbidden pair"
        found = Solution(picks, cost, min(bound, cost))
        return found if found.optimal else replace(found, note=note)

    def checked(self, solution: Solution) -> Solution | None:
        """The solution with its cost computed; None where it does not fit this problem.

        Of the solver's own figures only the bound is used, if it is at most the cost.
        """
        sizes = [len(costs) for costs in self.costs]
        if not isinstance(solution, Solution) or len(solution.choice) != len(sizes):
            return None
        if not all(pick in range(size) for pick, size in zip(solution.choice, sizes, strict=True)):
            return None
        cost, bound = self.cost(solution.choice), solution.bound
        if cost is None or (bound is not None and not -inf < bound <= cost * (1 + PROOF_TOLERANCE)):
            return None
        return replace(solution, cost=cost)


def _finite(seconds: Iterable[float | None]) -> bool:
    return all(isfinite(one) for one in seconds if one is not None)


class InfeasibleProblemError(ValueError):
    """No choice is permitted; `nodes` are those that show it, as far as is known."""

    def __init__(self, message: str, nodes: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.nodes = nodes


@dataclass(frozen=True, slots=True)
class Solution:
    """A candidate's index for each node, and how good that is known to be.

    cost    seconds of the choice
    bound   seconds that no choice beats, as proved; None where nothing is
    note    what kept the solver from a proof, one line, empty where nothing did
    """

    choice: tuple[int, ...]
    cost: float
    bound: float | None = None
    note: str = ""

    @property
    def gap(self) -> float | None:
        """At most so much, relative to the bound, is lost; None where no bound tells."""
        if self.bound is None:
            return None
        if self.cost <= self.bound:
            return 0.0
        return self.cost / self.bound - 1 if self.bound > 0 else None

    @property
    def optimal(self) -> bool:
        """Whether it is proved that no choice is better."""
        return self.gap is not None and self.gap <= PROOF_TOLERANCE


class GraphTuner(Protocol):
    """The role of graph tuners (`tilewright_graph_tuners`): they see numbers, never networks."""

    def solve(self, problem: GraphProblem) -> Solution:
        """The best choice it finds; one without a proof says why in its `note`.

        Only tuners with the capability `max-error` are given problems with `errors`.

        Where each node has one candidate there is nothing to choose: that counts as proved.
        Raises InfeasibleProblemError where there is none, and ValueError where it finds none.
        """
