"""The graph tuner `greedy` on numbers: feasible, locally best, with a true bound."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tilewright_graph.problem import Problem
from tilewright_graph.solvers.greedy import GreedyOptions, GreedyTuner

RATE = 1.91224744e-05 / 131072


def solve(problem: Problem):
    return GreedyTuner(GreedyOptions()).solve(problem)


def best(problem: Problem) -> float:
    picks = product(*(range(len(costs)) for costs in problem.costs))
    return min(cost for cost in map(problem.cost, picks) if cost is not None)


def random_problem(seed: int, *, forbidden: float = 0.0) -> Problem:
    rng = random.Random(seed)
    costs = tuple(
        tuple(rng.random() for _ in range(rng.randint(1, 3))) for _ in range(rng.randint(1, 6))
    )
    edges = {
        (a, b): tuple(
            tuple(None if rng.random() < forbidden else rng.random() for _ in costs[b])
            for _ in costs[a]
        )
        for b in range(len(costs))
        for a in range(b)
        if rng.random() < 0.5
    }
    return Problem(costs, edges)


def test_three_convolutions_with_a_sum_take_what_the_published_example_takes():
    """TVM's graph tuner test: conv0 -> conv1 -> conv2, add(conv1, conv2); in and out blocks, seconds, rate as there."""
    blocks = [[(1, 4), (3, 8)], [(8, 32), (4, 16)], [(4, 8), (2, 4)]]
    costs = ((0.04, 0.02), (0.012, 0.02), (0.03, 0.045))
    elements = 16 * 28 * 28 * 8

    def matrix(a: int, b: int) -> tuple[tuple[float, ...], ...]:
        return tuple(
            tuple(0.0 if out == into else elements * RATE for into, _ in blocks[b])
            for _, out in blocks[a]
        )

    solution = solve(Problem(costs, {(0, 1): matrix(0, 1), (1, 2): matrix(1, 2)}))
    assert [c[i] for c, i in zip(costs, solution.choice, strict=True)] == [0.02, 0.012, 0.03]


def test_a_forbidden_pair_is_avoided_at_any_price():
    """TVM's validity test: two convolutions of 2 and 3 channels into one concatenation."""
    problem = Problem(
        ((0.01, 0.03), (0.012, 0.04), (0.0, 0.0)),
        {(0, 2): ((0.0, None), (None, 0.0)), (1, 2): ((None, 0.0), (None, 0.0))},
    )
    assert solve(problem).choice == (1, 0, 1)


@pytest.mark.parametrize("seed", range(60))
def test_no_change_of_one_node_improves_the_choice(seed):
    problem = random_problem(seed)
    solution = solve(problem)
    assert solution.cost == pytest.approx(problem.cost(solution.choice))
    for node, costs in enumerate(problem.costs):
        for pick in range(len(costs)):
            changed = list(solution.choice)
            changed[node] = pick
            assert problem.cost(changed) >= solution.cost - 1e-12


@pytest.mark.parametrize("seed", range(60))
def test_the_bound_is_below_the_best_choice(seed):
    problem = random_problem(seed)
    solution = solve(problem)
    assert solution.bound <= best(problem) + 1e-12 <= solution.cost + 2e-12


@pytest.mark.parametrize("seed", range(60))
def test_forbidden_pairs_end_in_a_feasible_choice_or_an_error(seed):
    problem = random_problem(seed, forbidden=0.3)
    try:
        solution = solve(problem)
    except ValueError:
        return
    assert problem.cost(solution.choice) == solution.cost


def test_a_cheaper_kernel_loses_to_its_transforms():
    costs = ((1.0,), (1.0, 0.9), (1.0,))
    problem = Problem(costs, {(0, 1): ((0.0, 0.2),), (1, 2): ((0.0,), (0.2,))})
    assert solve(problem).choice == (0, 0, 0)


def test_a_later_neighbour_changes_an_earlier_choice():
    """Forward alone would take the first node's cheapest; the sweep sees what it costs behind it."""
    costs = ((1.0, 0.9), (1.0,))
    assert solve(Problem(costs, {(0, 1): ((0.0,), (0.5,))})).choice == (0, 0)
