"""The graph tuner suite over every graph tuner that this repository ships, and over broken ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tilewright.host import PluginHost
from tilewright_graph.problem import GraphTuner, Problem, Solution
from tilewright_graph.solvers.exhaustive import ExhaustiveOptions, ExhaustiveTuner
from tilewright_graph.testing.graph_tuner import ExactGraphTunerContract, GraphTunerContract


class TestGreedy(GraphTunerContract):
    name = "greedy"


class TestDp(ExactGraphTunerContract):
    name = "dp"


class TestDpOfNarrowTables(GraphTunerContract):
    name = "dp"
    options = {"max_num_states": 20}


class TestPbqp(GraphTunerContract):
    name = "pbqp"


class TestPbqpWithoutTheBound(GraphTunerContract):
    name = "pbqp"
    options = {"sweeps": 0, "bound_sweeps": 0}


class TestExact(ExactGraphTunerContract):
    name = "exact"


class TestExactWithoutTime(GraphTunerContract):
    name = "exact"
    options = {"time_limit_seconds": 0}


class TestExhaustive(ExactGraphTunerContract):
    name = "exhaustive"


def test_every_installed_graph_tuner_has_a_suite() -> None:
    tested = {value.name for value in globals().values() if hasattr(value, "name")}
    assert set(PluginHost.load().components("graph_tuner")) <= tested


class Broken:
    """The exhaustive tuner, whose answer is spoilt by `spoil`."""

    def __init__(self, spoil: Callable[[Problem, Solution], Solution]) -> None:
        self._spoil = spoil
        self._tuner = ExhaustiveTuner(ExhaustiveOptions())

    def solve(self, problem: Problem) -> Solution:
        return self._spoil(problem, self._tuner.solve(problem))


def first_candidates(problem: Problem, solution: Solution) -> Solution:
    choice = (0,) * len(problem.costs)
    cost = problem.cost(choice)
    return replace(solution, choice=choice, cost=cost if cost is not None else 10e9)


def false_proof(problem: Problem, solution: Solution) -> Solution:
    spoilt = first_candidates(problem, solution)
    return replace(spoilt, bound=spoilt.cost)


def bound_too_high(_problem: Problem, solution: Solution) -> Solution:
    return replace(solution, bound=solution.cost * 1.001)


def silent(_problem: Problem, solution: Solution) -> Solution:
    return replace(solution, bound=None)


def forgotten_edges(problem: Problem, solution: Solution) -> Solution:
    costs = (own[pick] for own, pick in zip(problem.costs, solution.choice, strict=True))
    return replace(solution, cost=sum(costs))


@pytest.mark.parametrize(
    ("spoil", "claim"),
    [
        (first_candidates, "test_cost_is_that_of_a_permitted_choice"),
        (forgotten_edges, "test_cost_is_that_of_a_permitted_choice"),
        (bound_too_high, "test_bound_is_not_above_the_best_cost"),
        (false_proof, "test_what_is_called_optimal_is"),
        (silent, "test_what_is_not_proved_says_why_in_one_line"),
    ],
)
def test_the_suite_rejects(spoil: Callable[[Problem, Solution], Solution], claim: str) -> None:
    tuner: GraphTuner = Broken(spoil)
    with pytest.raises(AssertionError):
        getattr(GraphTunerContract(), claim)(tuner)


def test_the_suite_rejects_a_tuner_that_invents_a_choice() -> None:
    class Inventor:
        def solve(self, problem: Problem) -> Solution:
            return Solution((0,) * len(problem.costs), 1.0)

    with pytest.raises(pytest.fail.Exception):
        GraphTunerContract().test_a_problem_without_permitted_choice_is_an_error(Inventor())
