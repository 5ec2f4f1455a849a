"""Finds some permitted choice, for solvers that end at a forbidden pair."""

from __future__ import annotations

import numpy as np

from tilewright_graph.selection.graph_problem import InfeasibleProblemError
from tilewright_graph.selection.solvers.cost_graph import CostGraph

MAX_DECISIONS = 20_000


def feasible_choice(graph: CostGraph) -> dict[int, int]:
    """A pick for every node, none forbidden: cheapest candidates first, with backtracking.

    Every decision is followed by arc consistency (Sabin & Freuder, "Contradicting conventional
    wisdom in constraint satisfaction", 1994). Raises InfeasibleProblemError where there is no such
    choice, ValueError where none was found in `MAX_DECISIONS` decisions.
    """
    states = [graph]
    for _ in range(MAX_DECISIONS):
        if not states:
            raise InfeasibleProblemError("every choice holds a forbidden pair")
        state = states.pop()
        node = _most_constrained(state)
        if node is None:
            return {
                node: int(picks[state.vectors[node].argmin()])
                for node, picks in state.picks.items()
            }
        taken = np.arange(len(state.vectors[node])) == state.vectors[node].argmin()
        for kept in (~taken, taken):  # what is tried first is pushed last
            branch = state.copy()
            branch.keep(node, kept)
            try:
                branch.make_consistent([node, *branch.beside[node]])
            except InfeasibleProblemError:
                continue
            states.append(branch)
    raise ValueError(f"no choice without a forbidden pair was found in {MAX_DECISIONS} decisions")


def _most_constrained(graph: CostGraph) -> int | None:
    """Of the nodes that still can meet a forbidden pair, one with fewest candidates."""
    by_candidates = sorted(graph.vectors, key=lambda node: len(graph.vectors[node]))
    return next(
        (
            node
            for node in by_candidates
            if len(graph.vectors[node]) > 1
            and not all(np.isfinite(matrix).all() for matrix in graph.beside[node].values())
        ),
        None,
    )
