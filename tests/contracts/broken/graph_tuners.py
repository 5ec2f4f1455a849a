"""The exhaustive graph tuner, and what could be wrong with it."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from math import inf

import pytest

from tilewright_graph.selection.graph_problem import GraphProblem, InfeasibleProblemError, Solution
from tilewright_graph.selection.solvers.exhaustive import ExhaustiveOptions, ExhaustiveTuner
from tilewright_graph.testing.graph_tuner import ExactGraphTunerContract, MaxErrorContract

PROVED = "test_every_small_problem_is_solved_with_proof"
EXPLAINED = "test_what_is_not_proved_says_why_in_one_line"


class Good:
    fails = frozenset()

    def __init__(self):
        self.tuner = ExhaustiveTuner(ExhaustiveOptions())

    def solve(self, problem):
        return self.spoilt(problem, self.tuner.solve(problem))

    def spoilt(self, problem, solution):
        return solution


def first_candidates(problem, solution):
    """The choice that heeds nothing."""
    choice = (0,) * len(problem.costs)
    cost = problem.cost(choice)
    return replace(solution, choice=choice, cost=10e9 if cost is None else cost)


class PicksTheForbidden(Good):
    fails = {"test_cost_is_that_of_a_permitted_choice", PROVED, EXPLAINED}

    def spoilt(self, problem, solution):
        return first_candidates(problem, solution)


class ForgetsTheEdges(Good):
    fails = {
        "test_cost_is_that_of_a_permitted_choice",
        "test_bound_is_not_above_the_best_cost",
        "test_what_is_called_optimal_is",
        "test_one_candidate_each_leaves_nothing_to_choose",
        PROVED,
    }

    def spoilt(self, problem, solution):
        costs = (own[pick] for own, pick in zip(problem.costs, solution.choice, strict=True))
        return replace(solution, cost=sum(costs))


class ProvesWhatIsNotOptimal(Good):
    fails = {
        "test_cost_is_that_of_a_permitted_choice",
        "test_bound_is_not_above_the_best_cost",
        "test_what_is_called_optimal_is",
        PROVED,
    }

    def spoilt(self, problem, solution):
        spoilt = first_candidates(problem, solution)
        return replace(spoilt, bound=spoilt.cost)


class BoundsTooHigh(Good):
    fails = {"test_bound_is_not_above_the_best_cost"}

    def spoilt(self, problem, solution):
        return replace(solution, bound=solution.cost * 1.001)


class ProvesNothingInSilence(Good):
    fails = {EXPLAINED, PROVED, "test_one_candidate_each_leaves_nothing_to_choose"}

    def spoilt(self, problem, solution):
        return replace(solution, bound=None)


class ChangesItsMind(Good):
    """Every other time it tells a cost a little higher."""

    fails = {"test_equal_problems_have_equal_solutions"}

    def __init__(self):
        super().__init__()
        self.turns = count()

    def spoilt(self, problem, solution):
        return replace(solution, cost=solution.cost * (1 + 1e-12 * (next(self.turns) % 2)))


class InventsAChoice(Good):
    fails = {"test_a_problem_without_permitted_choice_is_an_error"}

    def solve(self, problem):
        try:
            return super().solve(problem)
        except ValueError:
            return Solution((0,) * len(problem.costs), 1.0)


class WantsANode(Good):
    fails = {"test_no_node_costs_nothing"}

    def spoilt(self, problem, solution):
        return replace(solution, cost=solution.cost if problem.costs else 1e-9)


class WantsAChoice(Good):
    fails = {"test_one_candidate_each_leaves_nothing_to_choose"}

    def spoilt(self, problem, solution):
        single = problem == GraphProblem(((1e-3,), (2e-3,)), {(0, 1): ((5e-4,),)})
        return replace(solution, choice=()) if single else solution


class EatsTheProblem(Good):
    fails = {
        "test_the_problem_is_left_as_it_was",
        "test_cost_is_that_of_a_permitted_choice",
        "test_equal_problems_have_equal_solutions",
    }

    def solve(self, problem):
        solution = super().solve(problem)
        dict.clear(problem.edges)
        return solution


class GivesUp(Good):
    fails = {
        "test_most_problems_are_solved",
        "test_one_candidate_each_leaves_nothing_to_choose",
        "test_no_node_costs_nothing",
        PROVED,
    }

    def solve(self, problem):
        raise ValueError("too hard")


class CallsTheHardHopeless(Good):
    fails = {
        "test_cost_is_that_of_a_permitted_choice",
        "test_bound_is_not_above_the_best_cost",
        "test_what_is_called_optimal_is",
        "test_most_problems_are_solved",
        "test_equal_problems_have_equal_solutions",
        "test_the_problem_is_left_as_it_was",
        EXPLAINED,
        PROVED,
    }

    def solve(self, problem):
        if len(problem.edges) > 1:
            raise InfeasibleProblemError("every choice holds a forbidden pair")
        return super().solve(problem)


class TestGraphTuners(ExactGraphTunerContract):
    problems = 24

    @pytest.fixture(
        params=[
            Good,
            PicksTheForbidden,
            ForgetsTheEdges,
            ProvesWhatIsNotOptimal,
            BoundsTooHigh,
            ProvesNothingInSilence,
            ChangesItsMind,
            InventsAChoice,
            WantsANode,
            WantsAChoice,
            EatsTheProblem,
            GivesUp,
            CallsTheHardHopeless,
        ]
    )
    def variant(self, request):
        return request.param

    @pytest.fixture
    def tuner(self, variant):
        return variant()


class IgnoresErrors(Good):
    fails = {
        "test_the_best_choice_within_the_bound_is_found_with_proof",
        "test_a_bound_that_no_choice_keeps_is_an_error",
    }

    def solve(self, problem):
        return super().solve(replace(problem, max_error=inf))


class TestGraphTunersThatBoundErrors(MaxErrorContract):
    problems = 24

    @pytest.fixture(params=[Good, IgnoresErrors])
    def variant(self, request):
        return request.param

    @pytest.fixture
    def tuner(self, variant):
        return variant()
