"""Graph tuner `pbqp`: exact reductions while they last, then the best guess at the densest node."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from tilewright.options import Options
from tilewright_graph.selection.graph_problem import GraphProblem, InfeasibleProblemError, Solution
from tilewright_graph.selection.solvers.cost_graph import CostGraph
from tilewright_graph.selection.solvers.dual_bound import DualBound
from tilewright_graph.selection.solvers.feasible import feasible_choice
from tilewright_graph.selection.solvers.local_search import improve
from tilewright_graph.selection.solvers.reductions import (
    Reduced,
    complete,
    reduce_exactly,
    simplify,
)

_IMPROVEMENTS = 20


class PbqpOptions(Options):
    """Options of `pbqp`; both count only where a network does not reduce exactly."""

    sweeps: int = Field(
        default=20,
        description="Sweeps that shift costs to where guesses see them (20: 0.5 s for 1000 nodes).",
    )
    bound_sweeps: int = Field(
        default=40, description="Further sweeps that raise the bound after the choice is made."
    )


class PbqpTuner:
    """R0, RI and RII exactly; RN where every node has three neighbours or more.

    Exact for trees and series-parallel networks, residual ones among them. Hames & Scholz, "Nearly
    optimal register allocation with PBQP", 2006; for layouts Anderson & Gregg, "Optimal DNN
    primitive selection with PBQP", 2018. Beyond those, RN guesses twice, with the costs as they are
    and as the dual bound shifted them: the second sees what a pick costs further away.
    """

    def __init__(self, options: PbqpOptions, _host: Any = None) -> None:
        self._options = options

    def solve(self, problem: GraphProblem) -> Solution:
        graph = CostGraph(problem)
        reduced = simplify(graph)
        bound, left = graph.constant, len(graph.vectors)
        choice: dict[int, int] = {}
        if left:
            choice, dual = near_optimal(graph, self._options.sweeps)
            dual.raise_to(graph.cost(choice), self._options.bound_sweeps)
            bound = dual.value
        complete(choice, reduced)
        note = f"{left} of {len(problem.costs)} nodes have three neighbours or more: RN guessed"
        return problem.solution(choice, bound, note)


def near_optimal(graph: CostGraph, sweeps: int) -> tuple[dict[int, int], DualBound]:
    """A choice for a graph without exact reductions, and the bound after so many sweeps.

    Leaves the graph as it is. Raises InfeasibleProblemError, and ValueError where it finds none.
    """
    dual = DualBound(graph)
    for _ in range(sweeps):
        dual.sweep()
    found = [improve(graph, _guess(costs), _IMPROVEMENTS) for costs in (graph, dual.graph())]
    return min(found, key=graph.cost), dual


def _guess(graph: CostGraph) -> dict[int, int]:
    """Reductions, and RN at the node of most neighbours: its pick is cheapest beside their best."""
    left = graph.copy()
    reduced: list[Reduced] = []
    try:
        reduced += reduce_exactly(left)
        while left.vectors:
            node = max(left.vectors, key=lambda node: len(left.beside[node]))
            costs = left.vectors[node].copy()
            for neighbour, matrix in left.beside[node].items():
                costs += (matrix + left.vectors[neighbour]).min(axis=1)
            if not np.isfinite(costs.min()):  # what the picks before left it is forbidden
                return feasible_choice(graph)
            pick = left.fix(node, int(costs.argmin()))
            reduced += [Reduced.decided(node, pick), *reduce_exactly(left)]
    except InfeasibleProblemError:
        return feasible_choice(graph)
    choice: dict[int, int] = {}
    complete(choice, reduced)
    return choice
