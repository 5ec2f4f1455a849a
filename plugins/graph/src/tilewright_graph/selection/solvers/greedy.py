"""Graph tuner `greedy`: each node in turn takes the best candidate given its neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from tilewright.options import Options
from tilewright_graph.selection.graph_problem import GraphProblem, Solution
from tilewright_graph.selection.solvers.cost_graph import CostGraph
from tilewright_graph.selection.solvers.feasible import feasible_choice
from tilewright_graph.selection.solvers.local_search import costs_beside, improve


class GreedyOptions(Options):
    """Options of `greedy`."""

    sweeps: int = Field(
        default=10,
        description="How often, at most, all nodes are reconsidered after the first pass.",
    )


class GreedyTuner:
    """One pass in topological order given the producers, then sweeps given all neighbours.

    It ends in a choice that no change of a single node improves; that may be far from the best.
    """

    def __init__(self, options: GreedyOptions, _host: Any = None) -> None:
        self._sweeps = options.sweeps

    def solve(self, problem: GraphProblem) -> Solution:
        graph = CostGraph(problem)
        choice = improve(graph, _first_pass(graph), self._sweeps)
        return problem.solution(choice, graph.bound(), "greedy looks at one node at a time")


def _first_pass(graph: CostGraph) -> dict[int, int]:
    """Picks in topological order, each the cheapest given the producers."""
    places: dict[int, int] = {}
    for node in graph.vectors:
        costs = costs_beside(graph, node, places)
        if not np.isfinite(costs.min()):
            return feasible_choice(graph)
        places[node] = int(costs.argmin())
    return graph.choice(places)
