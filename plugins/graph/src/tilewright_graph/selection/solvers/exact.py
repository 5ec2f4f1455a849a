"""Graph tuner `exact`: a mixed integer program, solved by HiGHS through PuLP, with proof."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from pydantic import Field, model_validator

from tilewright.errors import UsageError
from tilewright.options import Options
from tilewright.plugins.loading.distributions import installer
from tilewright_graph.selection.graph_problem import GraphProblem, InfeasibleProblemError, Solution
from tilewright_graph.selection.solvers.cost_graph import CostGraph
from tilewright_graph.selection.solvers.dual_bound import DualBound
from tilewright_graph.selection.solvers.integer_program import IntegerProgram
from tilewright_graph.selection.solvers.pbqp import near_optimal
from tilewright_graph.selection.solvers.reductions import complete, remove_dominated, simplify

_SWEEPS = 40
_PRICES = 30
_DEAR = 1e3
_SOLVES = 5
_SCALE = 1e4
"""Of the objective, so that HiGHS's absolute tolerances (1e-6) are far below what counts."""


class ExactOptions(Options):
    """Options of `exact`."""

    time_limit_seconds: float = Field(
        default=60.0,
        description="Then the best choice found is given, with its gap; a fifth of it where errors "
        "are bounded, as several such problems are solved for one network.",
    )
    max_error_gap: float = Field(
        default=0.005,
        ge=0,
        description="Where errors are bounded: a choice proved to be so near to the best, "
        "relatively, ends the search; the last bit of proof takes minutes.",
    )

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
    best choice found is given with the bound proved by then. Where the network's error is bounded,
    the best of all choices comes first: if it keeps to the bound, that is the answer.
    """

    def __init__(self, options: ExactOptions, _host: Any = None) -> None:
        self._limit = options.time_limit_seconds
        self._gap = options.max_error_gap

    def solve(self, problem: GraphProblem) -> Solution:
        deadline = time.monotonic() + self._limit
        graph = CostGraph(problem)
        choice, bound = _best(graph.relaxed(0.0), deadline)
        if np.isfinite(graph.cost(choice)):
            return problem.solution(choice, bound, f"stopped after {self._limit:g} s")
        seconds = self._limit / _SOLVES
        choice, bound = _best_within(graph, choice, time.monotonic() + seconds, self._gap)
        ends = f"ended by max_error_gap {self._gap:g}, or after {seconds:g} s"
        return problem.solution(choice, bound, ends)


def _best(graph: CostGraph, deadline: float) -> tuple[dict[int, int], float]:
    """The best choice found, whatever its error, and a bound; takes the graph apart."""
    reduced = simplify(graph)
    choice: dict[int, int] = {}
    bound = graph.constant
    if graph.vectors:
        choice, bound = _solve(graph, deadline)
    complete(choice, reduced)
    return choice, bound


def _best_within(
    graph: CostGraph, free: dict[int, int], deadline: float, gap: float
) -> tuple[dict[int, int], float]:
    """The same within the room for errors, which `free`, the best of all choices, exceeds.

    The price of room at which choices come nearest to it (Everett, "Generalized Lagrange multiplier
    method", 1963) gives a bound, and a choice within it; what the two leave undecided goes to
    HiGHS. Raises ValueError where none is found.
    """
    plain = graph.relaxed(0.0)
    cost, bound, best, at = math.inf, -math.inf, free, 0.0
    above, within = free, free
    price = _DEAR * plain.cost(free) / graph.room  # at first so high that errors count most
    for _ in range(_PRICES):
        choice, proved = _best(graph.relaxed(price), deadline)
        if proved > bound:
            bound, at = proved, price
        if graph.cost(choice) < cost:
            best, cost = choice, graph.cost(choice)
        if choice in (above, within):
            break
        if graph.share(choice) > graph.room:
            above = choice
        else:
            within = choice
        if within is free:
            break
        saved = plain.cost(within) - plain.cost(above)
        price = saved / (graph.share(above) - graph.share(within))
    left = graph
    if math.isfinite(cost):
        left = _without_worse_than(cost, graph, at)
    if bound * (1 + gap) < cost and deadline > time.monotonic():
        size = cost if 0 < cost < math.inf else 1.0
        found, proved = _run_highs(left, size, deadline, gap)
        bound = max(bound, proved)
        if found and graph.cost(found) < cost:
            best, cost = found, graph.cost(found)
    if math.isinf(cost):
        raise ValueError("no choice within max_error was found in the time given")
    return best, bound


def _without_worse_than(cost: float, graph: CostGraph, price: float) -> CostGraph:
    """The graph less candidates that only dearer choices can hold, or that others dominate."""
    dual = DualBound(graph.relaxed(price))
    dual.raise_to(cost, _SWEEPS)
    kept = dual.without_worse_than(cost).picks
    left = graph.copy()
    for node, picks in graph.picks.items():
        left.keep(node, np.isin(picks, kept[node]))
    remove_dominated(left)
    return left


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
    if bound < cost and deadline > time.monotonic():
        found, proved = _run_highs(left, cost if choice and cost else 1.0, deadline)
        bound = max(bound, proved)
        if found and graph.cost(found) < cost:
            choice = found
    if not choice:
        raise ValueError("no choice without a forbidden pair was found in the time given")
    return choice, bound


def _run_highs(
    graph: CostGraph, size: float, deadline: float, gap: float = 0.0
) -> tuple[dict[int, int], float]:
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
    if program.shares:
        added = [
            (variable, float(share) * _SCALE)
            for node, shares in program.shares.items()
            for variable, share in zip(chosen[node], shares, strict=True)
        ]
        model += pulp.LpAffineExpression(added) <= program.room * _SCALE
    model.setObjective(pulp.LpAffineExpression(objective))
    choice: dict[int, int] = {}
    bound = -math.inf
    while not choice and (seconds := deadline - time.monotonic()) > 0:
        model.solve(pulp.HiGHS(msg=False, timeLimit=seconds, gapRel=gap))
        if model.status == pulp.LpStatusInfeasible:
            raise InfeasibleProblemError("no choice is permitted", tuple(graph.vectors))
        bound = graph.constant + model.solverModel.getInfo().mip_dual_bound / scale
        values = {node: [v.value() or 0.0 for v in own] for node, own in chosen.items()}
        places = {node: int(np.argmax(own)) for node, own in values.items()}
        if np.isfinite(graph.cost(graph.choice(places))):
            choice = graph.choice(places)
        elif model.status != pulp.LpStatusOptimal:
            break
        else:  # it is beyond the room by what HiGHS tolerates: any other
            picks = [chosen[node][place] for node, place in places.items()]
            model += pulp.lpSum(picks) <= len(picks) - 1
    return choice, bound
