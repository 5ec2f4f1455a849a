"""What every graph tuner keeps to. Subclass, give its `name`, and inherit proofs if it claims them.

>>> class TestMine(ExactGraphTunerContract):
...     name, options = "mine", {"time_limit_seconds": 1}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright_graph.selection.graph_problem import (
    GraphProblem,
    GraphTuner,
    InfeasibleProblemError,
    Solution,
)
from tilewright_graph.testing.random_problems import bounded, random_problems
from tilewright_testing.component import ComponentContract

TOLERANCE = 1e-9


class GraphTunerContract(ComponentContract):
    """Choices are permitted, costs and bounds are correct, and proofs hold.

    problems   random ones that are solved in most checks
    """

    role = "graph_tuner"
    problems = 120

    @pytest.fixture
    def tuner(self, host: PluginHost) -> GraphTuner:
        tuner: GraphTuner = self.made(host, host)
        return tuner

    def _solved(self, tuner: GraphTuner) -> Iterator[tuple[GraphProblem, Solution, float]]:
        """Random problems with the tuner's solution and the least cost, but for those given up."""
        for problem, best in _problems(self.problems):
            solution = self._attempt(tuner, problem) if best is not None else None
            if best is not None and solution is not None:
                yield problem, solution, best

    def _attempt(self, tuner: GraphTuner, problem: GraphProblem) -> Solution | None:
        """The solution; None where the tuner finds none, which it says by a ValueError."""
        try:
            return tuner.solve(problem)
        except InfeasibleProblemError:
            raise
        except ValueError:
            return None

    def test_most_problems_are_solved(self, tuner: GraphTuner) -> None:
        solvable = sum(best is not None for _, best in _problems(self.problems))
        assert 2 * sum(1 for _ in self._solved(tuner)) > solvable

    def test_cost_is_that_of_a_permitted_choice(self, tuner: GraphTuner) -> None:
        for problem, solution, _ in self._solved(tuner):
            assert len(solution.choice) == len(problem.costs)
            assert problem.cost(solution.choice) == pytest.approx(solution.cost, rel=TOLERANCE)

    def test_bound_is_not_above_the_best_cost(self, tuner: GraphTuner) -> None:
        for problem, solution, best in self._solved(tuner):
            assert solution.cost >= best * (1 - TOLERANCE), problem
            if solution.bound is not None:
                assert solution.bound <= best * (1 + TOLERANCE), problem

    def test_what_is_called_optimal_is(self, tuner: GraphTuner) -> None:
        for problem, solution, best in self._solved(tuner):
            if solution.optimal:
                assert solution.cost == pytest.approx(best, rel=2 * TOLERANCE), problem

    def test_what_is_not_proved_says_why_in_one_line(self, tuner: GraphTuner) -> None:
        for _, solution, _ in self._solved(tuner):
            assert bool(solution.note) != solution.optimal
            assert "\n" not in solution.note

    def test_equal_problems_have_equal_solutions(self, tuner: GraphTuner) -> None:
        for problem, best in _problems(12):
            if best is not None:
                assert self._attempt(tuner, problem) == self._attempt(tuner, problem)

    def test_a_problem_without_permitted_choice_is_an_error(self, tuner: GraphTuner) -> None:
        hopeless = [problem for problem, best in _problems(self.problems) if best is None]
        assert hopeless
        hopeless.append(_three_nodes_in_two_colours())
        for problem in hopeless:
            with pytest.raises(ValueError):  # noqa: PT011  whether it is proved or only not found
                tuner.solve(problem)

    def test_one_candidate_each_leaves_nothing_to_choose(self, tuner: GraphTuner) -> None:
        problem = GraphProblem(((1e-3,), (2e-3,)), {(0, 1): ((5e-4,),)})
        solution = tuner.solve(problem)
        assert (solution.choice, solution.optimal) == ((0, 0), True)
        assert solution.cost == pytest.approx(3.5e-3)

    def test_no_node_costs_nothing(self, tuner: GraphTuner) -> None:
        solution = tuner.solve(GraphProblem((), {}))
        assert (solution.choice, solution.cost) == ((), 0)

    def test_the_problem_is_left_as_it_was(self, tuner: GraphTuner) -> None:
        for problem, best in _problems(12):
            before = repr(problem)
            if best is not None:
                self._attempt(tuner, problem)
            assert repr(problem) == before


class ExactGraphTunerContract(GraphTunerContract):
    """The same of a tuner that proves its choice, on small problems at least."""

    def test_every_small_problem_is_solved_with_proof(self, tuner: GraphTuner) -> None:
        for problem, best in _problems(self.problems):
            if best is None:
                continue
            solution = tuner.solve(problem)
            assert solution.optimal, problem
            assert solution.cost == pytest.approx(best, rel=TOLERANCE), problem


class MaxErrorContract(ExactGraphTunerContract):
    """The same of a tuner with the capability `max-error`, on small problems that bound errors."""

    def test_the_best_choice_within_the_bound_is_found_with_proof(self, tuner: GraphTuner) -> None:
        bounding = 0
        for number, (problem, free) in enumerate(_problems(self.problems)):
            within = bounded(problem, number)
            best = _least_cost(within)
            if best is None:
                with pytest.raises(InfeasibleProblemError):
                    tuner.solve(within)
                continue
            solution = tuner.solve(within)
            assert within.error(solution.choice) <= within.max_error * (1 + TOLERANCE)
            assert within.checked(solution) is not None
            assert solution.cost == pytest.approx(best, rel=TOLERANCE), within
            assert solution.optimal, within
            bounding += free is not None and best > free * (1 + TOLERANCE)
        assert bounding > self.problems // 5

    def test_a_bound_that_no_choice_keeps_is_an_error(self, tuner: GraphTuner) -> None:
        problem = GraphProblem(
            ((1e-3, 2e-3), (1e-3, 2e-3)), {}, ((2e-3, 1e-3), (2e-3, 1e-3)), max_error=1.4e-3
        )
        with pytest.raises(InfeasibleProblemError):
            tuner.solve(problem)
        kept = replace(problem, max_error=1.42e-3)
        assert tuner.solve(kept).choice == (1, 1)


def _three_nodes_in_two_colours() -> GraphProblem:
    """Every pair of nodes can be permitted, all three cannot."""
    differ = ((None, 0.0), (0.0, None))
    return GraphProblem(((1e-3, 1e-3),) * 3, {(0, 1): differ, (0, 2): differ, (1, 2): differ})


def _problems(count: int) -> Iterator[tuple[GraphProblem, float | None]]:
    """Random problems with the least cost, None where no choice is permitted."""
    return zip(random_problems(count), _least_costs(count), strict=True)


@cache
def _least_costs(count: int) -> tuple[float | None, ...]:
    """Of random problems, by looking at every choice."""
    return tuple(map(_least_cost, random_problems(count)))


def _least_cost(problem: GraphProblem) -> float | None:
    return min((c for c in map(problem.cost, _choices(problem)) if c is not None), default=None)


def _choices(problem: GraphProblem) -> Iterator[tuple[int, ...]]:
    return product(*(range(len(costs)) for costs in problem.costs))
