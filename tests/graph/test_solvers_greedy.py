"""The graph tuner `greedy` on numbers: feasible, locally best, with a true bound."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tilewright_graph.selection.graph_problem import GraphProblem
from tilewright_graph.selection.solvers.greedy import GreedyOptions, GreedyTuner


def solve(problem: GraphProblem):
    return GreedyTuner(GreedyOptions()).solve(problem)


def best(problem: GraphProblem) -> float:
    picks = product(*(range(len(costs)) for costs in problem.costs))
    return min(cost for cost in map(problem.cost, picks) if cost is not None)


def random_problem(seed: int, *, forbidden: float = 0.0) -> GraphProblem:
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
    return GraphProblem(costs, edges)


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
    problem = GraphProblem(costs, {(0, 1): ((0.0, 0.2),), (1, 2): ((0.0,), (0.2,))})
    assert solve(problem).choice == (0, 0, 0)


def test_a_later_neighbour_changes_an_earlier_choice():
    """Forward alone would take the first node's cheapest; the sweep sees what it costs behind it."""
    costs = ((1.0, 0.9), (1.0,))
    assert solve(GraphProblem(costs, {(0, 1): ((0.0,), (0.5,))})).choice == (0, 0)
