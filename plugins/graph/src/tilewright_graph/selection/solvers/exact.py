"""Graph tuner `exact`: a mixed integer program, solved by HiGHS through PuLP, with proof."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from pydantic import model_validator

from tilewright.errors import UsageError
from tilewright.options import Options
from tilewright.plugins.loading.distributions import installer
from tilewright_graph.selection.graph_problem import GraphProblem, InfeasibleProblemError, Solution
from tilewright_graph.selection.solvers.cost_graph import CostGraph
from tilewright_graph.selection.solvers.integer_program import IntegerProgram
from tilewright_graph.selection.solvers.pbqp import near_optimal
from tilewright_graph.selection.solvers.reductions import complete, simplify

_SWEEPS = 40
_SCALE = 1e4
"""Of the objective, so that HiGHS's absolute tolerances (1e-6) are far below what counts."""


class ExactOptions(Options):
    """`time_limit_seconds`: then the best choice found is given, and its gap."""

    time_limit_seconds: float = 60.0

    @model_validator(mode="after")
    def _solver_is_installed(self) -> Self:  # here, so that it is told before anything is tuned
        missing = [name for name in ("pulp", "highspy") if find_spec(name) is None]
        if missing:
            raise UsageError(
                f"graph tuner 'exact' needs PuLP and HiGHS; not installed: {', '.join(missing)}",
                remedy=f"{installer()} install {' '.join(missing)}, or choose 'dp' or 'pbqp'",
            )
        return self


class ExactTuner:
    """The best choice, by exact reductions, pruning under a dual bound, and an integer program.

    What reduces exactly, or what the dual bound proves, never reaches HiGHS. At the time limit the
    best choice found is given with the bound proved by then.
    """

    def __init__(self, options: ExactOptions, _host: Any = None) -> None:
        self._limit = options.time_limit_seconds

    def solve(self, problem: GraphProblem) -> Solution:
        deadline = time.monotonic() + self._limit
        graph = CostGraph(problem)
        reduced = simplify(graph)
        choice: dict[int, int] = {}
        bound = graph.constant
        if graph.vectors:
            choice, bound = _solve(graph, deadline)
        complete(choice, reduced)
        return problem.solution(choice, bound, f"stopped after {self._limit:g} s")


def _solve(graph: CostGraph, deadline: float) -> tuple[dict[int, int], float]:
    """The best choice found for a graph without exact reductions, and a bound."""
    try:
        choice, dual = near_optimal(graph, _SWEEPS)
    except InfeasibleProblemError:
        raise
    except ValueError:  # none found yet; HiGHS may
        choice, cost, bound, left = {}, math.inf, -math.inf, graph
    else:
        cost, bound = graph.cost(choice), dual.value
        left = dual.without_worse_than(cost)
    seconds = deadline - time.monotonic()
    if bound < cost and seconds > 0:
        found, proved = _run_highs(left, cost if choice and cost else 1.0, seconds)
        bound = max(bound, proved)
        if found and graph.cost(found) < cost:
            choice = found
    if not choice:
        raise ValueError("no choice without a forbidden pair was found in the time given")
    return choice, bound


def _run_highs(graph: CostGraph, size: float, seconds: float) -> tuple[dict[int, int], float]:
    """The choice of HiGHS, empty where it has none, and its bound; costs are of about this size.

    Raises InfeasibleProblemError.
    """
    import pulp

    program, scale = IntegerProgram.of(graph), _SCALE / size
    model = pulp.LpProblem("layouts")
    chosen = {
        node: [
            model.add_variable(f"n{node}_{place}", cat=pulp.LpBinary) for place in range(len(costs))
        ]
        for node, costs in program.costs.items()
    }
    objective = [
        (variable, float(cost) * scale)
        for node, costs in program.costs.items()
        for variable, cost in zip(chosen[node], costs, strict=True)
    ]
    for variables in chosen.values():
        model += pulp.lpSum(variables) == 1
    for pairing in program.pairings:
        sides: dict[tuple[int, int], list[pulp.LpVariable]] = defaultdict(list)
        for row, column, cost in pairing.pairs:
            name = f"e{pairing.first}_{pairing.second}_{row}_{column}"
            pair = model.add_variable(name, lowBound=0)
            objective.append((pair, cost * scale))
            sides[pairing.first, row].append(pair)
            sides[pairing.second, column].append(pair)
        groups = {pairing.first: pairing.rows, pairing.second: pairing.columns}
        for (node, group), pairs in sides.items():
            members = [v for v, own in zip(chosen[node], groups[node], strict=True) if own == group]
            terms = [(pair, 1) for pair in pairs] + [(member, -1) for member in members]
            used = pulp.LpAffineExpression(terms)
            model += used == 0 if pairing.complete else used <= 0
    model.setObjective(pulp.LpAffineExpression(objective))
    model.solve(pulp.HiGHS(msg=False, timeLimit=seconds, gapRel=0.0))
    if model.status == pulp.LpStatusInfeasible:
        raise InfeasibleProblemError("every choice holds a forbidden pair", tuple(graph.vectors))
    places = {node: int(np.argmax([v.value() or 0.0 for v in own])) for node, own in chosen.items()}
    choice = graph.choice(places)
    bound = graph.constant + model.solverModel.getInfo().mip_dual_bound / scale
    return (choice if np.isfinite(graph.cost(choice)) else {}), bound
