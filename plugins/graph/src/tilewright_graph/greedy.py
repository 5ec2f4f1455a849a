"""Graph tuner `greedy`: each node in turn takes what is best beside its neighbours."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tilewright.options import Options
from tilewright_graph.problem import Matrix, Problem, Solution


class GreedyOptions(Options):
    """`sweeps`: how often, at most, all nodes are reconsidered after the first pass."""

    sweeps: int = 10


class GreedyTuner:
    """One pass in topological order beside producers, then sweeps beside all neighbours.

    Every step lowers the cost or keeps it, so it ends in a choice that no change of a single node
    improves; that may be far from the best (gap = cost / bound - 1 tells at most how far).
    """

    def __init__(self, options: GreedyOptions, _host: Any = None) -> None:
        self._sweeps = options.sweeps

    def solve(self, problem: Problem) -> Solution:
        """A locally best choice. Raises ValueError where it finds none without a forbidden pair."""
        neighbours: dict[int, list[tuple[int, Matrix]]] = defaultdict(list)
        for (producer, consumer), matrix in problem.edges.items():
            neighbours[consumer].append((producer, matrix))
            neighbours[producer].append((consumer, tuple(zip(*matrix, strict=True))))
        possible = problem.possible()
        if not all(possible):
            raise ValueError("every choice holds a forbidden pair")
        choice: dict[int, int] = {}
        for _ in range(1 + self._sweeps):
            before = dict(choice)
            for node, picks in enumerate(possible):
                beside = neighbours[node]
                costs = [(_cost(problem.costs[node][p], p, beside, choice), p) for p in picks]
                choice[node] = min(costs)[1]
            if choice == before:
                break
        found = tuple(choice[node] for node in range(len(problem.costs)))
        cost = problem.cost(found)
        if cost is None:
            raise ValueError("greedy found no choice without a forbidden pair")
        return Solution(found, cost, problem.bound())


def _cost(
    own: float, pick: int, neighbours: list[tuple[int, Matrix]], choice: dict[int, int]
) -> tuple[int, float]:
    """(forbidden pairs, seconds) beside the neighbours that have chosen already."""
    entries = [matrix[choice[other]][pick] for other, matrix in neighbours if other in choice]
    possible = [entry for entry in entries if entry is not None]
    return len(entries) - len(possible), own + sum(possible)
