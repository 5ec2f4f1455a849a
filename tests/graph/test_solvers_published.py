"""The published conformance examples of TVM's graph tuner, as numbers, for every solver."""

from __future__ import annotations

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright_graph.selection.graph_problem import GraphProblem

RATE = 1.91224744e-05 / 131072
BLOCKS = [[(1, 4), (3, 8)], [(8, 32), (4, 16)], [(4, 8), (2, 4)]]
COSTS = ((0.04, 0.02), (0.012, 0.02), (0.03, 0.045))
ELEMENTS = 16 * 28 * 28 * 8

SOLVERS = ("greedy", "dp", "pbqp", "exact", "exhaustive")


@pytest.fixture(scope="module", params=SOLVERS)
def solve(request):
    host = PluginHost.load()
    return host.make("graph_tuner", request.param, {}, host).solve


def transforms(made: list[int], read: list[int]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(0.0 if m == r else ELEMENTS * RATE for r in read) for m in made)


def chosen(problem: GraphProblem, choice) -> list[float]:
    return [costs[pick] for costs, pick in zip(problem.costs, choice, strict=True)]


def test_three_convolutions_with_a_sum(solve):
    """conv0 -> conv1 -> conv2, add(conv1, conv2): the sum writes what its first operand writes."""
    written = [[out for _, out in blocks] for blocks in BLOCKS]
    read = [[into for into, _ in blocks] for blocks in BLOCKS]
    same = tuple(tuple(0.0 if a == b else None for b in range(2)) for a in range(2))
    problem = GraphProblem(
        (*COSTS, (0.0, 0.0)),
        {
            (0, 1): transforms(written[0], read[1]),
            (1, 2): transforms(written[1], read[2]),
            (1, 3): same,
            (2, 3): transforms(written[2], written[1]),
        },
    )
    assert chosen(problem, solve(problem).choice)[:3] == [0.02, 0.012, 0.03]


def test_three_convolutions_between_transposes_are_independent(solve):
    problem = GraphProblem(COSTS, {})
    solution = solve(problem)
    assert chosen(problem, solution.choice) == [0.02, 0.012, 0.03]
    assert solution.optimal


def test_what_changes_the_volume_is_forbidden_at_any_price(solve):
    """Convolutions of 2 and 3 channels into one concatenation, in blocks of the first's output."""
    problem = (
        GraphProblem(  # 3 channels, whatever block they were made in, go into blocks of 1 only
            ((0.01, 0.03), (0.012, 0.04), (0.0, 0.0)),
            {(0, 2): ((0.0, None), (None, 0.0)), (1, 2): ((None, 1e-6), (None, 0.0))},
        )
    )
    solution = solve(problem)
    assert chosen(problem, solution.choice) == [0.03, 0.012, 0.0]
    assert solution.cost == pytest.approx(0.042001)
