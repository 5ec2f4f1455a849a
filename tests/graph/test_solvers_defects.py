"""Defects of earlier graph tuners: shown on variants that have them, and absent from ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright_graph.selection.graph_problem import GraphProblem, InfeasibleProblemError, Solution
from tilewright_graph.selection.solvers.exhaustive import ExhaustiveOptions, ExhaustiveTuner

Solve = Callable[[GraphProblem], Solution]
PENALTY = 10e9


@pytest.fixture(scope="module", params=("dp", "pbqp", "exact", "exhaustive"))
def solve(request) -> Solve:
    host = PluginHost.load()
    return host.make("graph_tuner", request.param, {}, host).solve


def different(seconds: float) -> tuple[tuple[float, ...], ...]:
    """A transform between two layouts, nothing within one."""
    return ((0.0, seconds), (seconds, 0.0))


def assert_best(solve: Solve, problem: GraphProblem) -> None:
    """The cost told is that of kernels and transforms, each once, and no choice costs less."""
    solution = solve(problem)
    choices = product(*(range(len(costs)) for costs in problem.costs))
    assert solution.cost == pytest.approx(problem.cost(solution.choice))
    assert solution.cost == pytest.approx(min(map(problem.cost, choices)))


# add(conv, graph input): what was spent before a node with one producer must reach its table.

SUM_WITH_AN_INPUT = GraphProblem(
    costs=((0.010, 0.001), (0.0, 0.0), (0.005, 0.006)),
    edges={(0, 1): different(0.0002), (1, 2): different(0.0002)},
)
"""conv -> add(conv, graph input) -> conv: the first is ten times faster in the second layout."""


def chain_program(problem: GraphProblem, forgetful: Sequence[int] = ()) -> Solution:
    """The textbook program over a chain; at `forgetful` nodes the table starts again from zero."""
    table, back = np.array(problem.costs[0]), []
    for node in range(1, len(problem.costs)):
        ways = table[:, None] + np.array(problem.edges[node - 1, node])
        back.append(ways.argmin(axis=0))
        table = np.array(problem.costs[node]) + ways.min(axis=0)
        if node in forgetful:
            table = np.array(problem.costs[node])
    choice = [int(table.argmin())]
    for best in reversed(back):
        choice.append(int(best[choice[-1]]))
    return Solution(tuple(reversed(choice)), float(table.min()))


def test_what_was_spent_upstream_of_a_sum_is_not_forgotten(solve):
    assert_best(solve, SUM_WITH_AN_INPUT)


def test_a_program_that_forgets_it_is_caught():
    assert_best(chain_program, SUM_WITH_AN_INPUT)
    with pytest.raises(AssertionError):
        assert_best(lambda problem: chain_program(problem, forgetful=(1,)), SUM_WITH_AN_INPUT)


# Virtual nodes (sums, concatenations) borrow their producer's candidates, not their seconds.

TWO_SUMS = GraphProblem(
    costs=((0.010, 0.011), (0.0, 0.0), (0.0, 0.0), (0.012, 0.0105)),
    edges={
        (0, 1): ((0.0, None), (None, 0.0)),
        (0, 2): ((0.0, None), (None, 0.0)),
        (1, 3): different(0.0008),
        (2, 3): different(0.0008),
    },
)
"""A convolution feeds two sums, tied to its layout, and both feed another convolution."""


def borrowed_seconds(problem: GraphProblem) -> Solution:
    """The best of a problem whose sums hold the seconds of the convolution before them as well."""
    conv, _, _, last = problem.costs
    return ExhaustiveTuner(ExhaustiveOptions()).solve(
        GraphProblem((conv, conv, conv, last), problem.edges)
    )


def least_permitted(problem: GraphProblem) -> float:
    choices = product(*(range(len(costs)) for costs in problem.costs))
    return min(cost for cost in map(problem.cost, choices) if cost is not None)


def assert_counted_once(solve: Solve, problem: GraphProblem) -> None:
    solution = solve(problem)
    assert solution.cost == pytest.approx(problem.cost(solution.choice))
    assert problem.cost(solution.choice) == pytest.approx(least_permitted(problem))


def test_kernels_before_virtual_nodes_are_counted_once(solve):
    assert_counted_once(solve, TWO_SUMS)


def test_counting_them_again_in_virtual_nodes_is_caught():
    with pytest.raises(AssertionError):
        assert_counted_once(borrowed_seconds, TWO_SUMS)
    wrong = borrowed_seconds(TWO_SUMS)
    assert TWO_SUMS.cost(wrong.choice) > least_permitted(TWO_SUMS), "it even chooses wrongly"


# Forbidden pairs are no large numbers.

HOPELESS = GraphProblem(
    costs=((1e-5, 2e-5), (3e-6, 1e-6), (1e-5, 1e-5)),
    edges={(0, 1): ((None, None), (None, None)), (1, 2): different(1e-6)},
)


def with_penalties(problem: GraphProblem) -> GraphProblem:
    edges = {
        pair: tuple(tuple(PENALTY if e is None else e for e in row) for row in matrix)
        for pair, matrix in problem.edges.items()
    }
    return GraphProblem(problem.costs, edges)


def penalised(problem: GraphProblem) -> Solution:
    return chain_program(with_penalties(problem))


def assert_permitted_or_refused(solve: Solve, problem: GraphProblem) -> None:
    try:
        solution = solve(problem)
    except InfeasibleProblemError:
        return
    assert problem.cost(solution.choice) is not None, "the choice holds a forbidden pair"


def test_a_problem_without_permitted_choice_is_refused_not_priced(solve):
    assert_permitted_or_refused(solve, HOPELESS)
    with pytest.raises(InfeasibleProblemError):
        solve(HOPELESS)


def test_a_penalty_in_its_place_is_caught():
    with pytest.raises(AssertionError, match="forbidden"):
        assert_permitted_or_refused(penalised, HOPELESS)


K4_WITH_FORBIDDEN_PAIRS = GraphProblem(
    costs=tuple((k * 1e-6, 2e-6, 1.5e-6) for k in (1, 2, 3, 4)),
    edges={
        (a, b): tuple(
            tuple(None if (p + q + a) % 3 == 0 else abs(p - q) * 1e-6 / b for q in range(3))
            for p in range(3)
        )
        for a in range(4)
        for b in range(a + 1, 4)
    },
)
"""No exact reduction: costs are shifted between nodes and edges, microseconds beside forbidden."""


def assert_bound_is_precise(bound: float | None, problem: GraphProblem) -> None:
    """To a nanosecond, and of the size of the costs."""
    least = least_permitted(problem)
    assert bound is not None
    assert 0.5 * least <= bound <= least + 1e-9


def test_forbidden_pairs_leave_the_bound_its_precision():
    host = PluginHost.load()
    solution = host.make("graph_tuner", "pbqp", {}, host).solve(K4_WITH_FORBIDDEN_PAIRS)
    assert_bound_is_precise(solution.bound, K4_WITH_FORBIDDEN_PAIRS)


def test_penalties_that_destroy_precision_are_caught():
    """In float32, as tables of the dynamic program were, a kernel beside a penalty vanishes."""
    total = np.float32(PENALTY) + np.float32(0.04)
    assert total - np.float32(PENALTY) == 0
    kept = total - np.float32(PENALTY)  # what such a table still knows of the kernel
    with pytest.raises(AssertionError):
        assert_bound_is_precise(float(kept), K4_WITH_FORBIDDEN_PAIRS)
