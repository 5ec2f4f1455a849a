"""Every solver against the exhaustive one, on a thousand small problems of all shapes."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from tilewright_graph.selection.graph_problem import GraphProblem, InfeasibleProblemError, Solution
from tilewright_graph.selection.solvers.dp import DpOptions, DpTuner
from tilewright_graph.selection.solvers.exact import ExactOptions, ExactTuner
from tilewright_graph.selection.solvers.exhaustive import ExhaustiveOptions, ExhaustiveTuner
from tilewright_graph.selection.solvers.greedy import GreedyOptions, GreedyTuner
from tilewright_graph.selection.solvers.pbqp import PbqpOptions, PbqpTuner
from tilewright_graph.testing.random_problems import random_problems, tree

PROBLEMS = tuple(random_problems(1000, seed=2006))
EXACT = {"dp": DpTuner(DpOptions()), "exact": ExactTuner(ExactOptions())}
SOLVERS = {
    **EXACT,
    "pbqp": PbqpTuner(PbqpOptions()),
    "pbqp without sweeps": PbqpTuner(PbqpOptions(sweeps=0, bound_sweeps=0)),
    "dp of narrow tables": DpTuner(DpOptions(max_num_states=16)),
    "greedy": GreedyTuner(GreedyOptions()),
}


def answer(tuner, problem: GraphProblem) -> Solution | None:
    """None where it is proved that there is no permitted choice."""
    try:
        return tuner.solve(problem)
    except InfeasibleProblemError:
        return None


@cache
def references() -> list[Solution | None]:
    tuner = ExhaustiveTuner(ExhaustiveOptions())
    return [answer(tuner, problem) for problem in PROBLEMS]


@cache
def answers(name: str) -> list[Solution | None]:
    return [answer(SOLVERS[name], problem) for problem in PROBLEMS]


def test_the_problems_are_of_every_kind():
    found = Counter(reference is None for reference in references())
    assert found[False] > 600 and found[True] > 100
    assert any(not problem.edges for problem in PROBLEMS)
    assert any(len(problem.edges) == 21 for problem in PROBLEMS)
    assert sum(all(len(costs) == 1 for costs in problem.costs) for problem in PROBLEMS) > 5
    holes = [any(None in row for m in p.edges.values() for row in m) for p in PROBLEMS]
    assert 300 < sum(holes) < 800


@pytest.mark.parametrize("name", EXACT)
def test_an_exact_solver_finds_the_least_cost_and_proves_it(name):
    for problem, reference, found in zip(PROBLEMS, references(), answers(name), strict=True):
        assert (found is None) == (reference is None), problem
        if found and reference:
            assert found.optimal, problem
            assert found.cost == pytest.approx(reference.cost, rel=1e-9), problem


@pytest.mark.parametrize("name", SOLVERS)
def test_no_bound_is_above_and_no_cost_below_the_least(name):
    for problem, reference, found in zip(PROBLEMS, references(), answers(name), strict=True):
        assert (found is None) == (reference is None), problem
        if found and reference:
            assert problem.cost(found.choice) == found.cost
            assert found.bound <= reference.cost * (1 + 1e-9), problem
            assert found.cost >= reference.cost * (1 - 1e-9), problem
            assert not found.optimal or found.cost == pytest.approx(reference.cost, rel=2e-9)


def test_pbqp_proves_all_that_reduces_exactly():
    """Trees and series-parallel problems, the first two of every four shapes."""
    for number, found in enumerate(answers("pbqp without sweeps")):
        if number % 4 < 2 and found:
            assert found.optimal


def test_pbqp_is_near_the_best_where_it_guesses():
    pairs = [(f, r) for f, r in zip(answers("pbqp"), references(), strict=True) if f and r]
    proved = sum(found.optimal for found, _ in pairs)
    best = sum(found.cost <= reference.cost * (1 + 1e-9) for found, reference in pairs)
    assert proved > 0.9 * len(pairs)
    assert best > 0.98 * len(pairs)


def test_narrow_tables_still_prove_something():
    """16 states hold any pair of nodes: trees are exact, and a split is said."""
    for number, found in enumerate(answers("dp of narrow tables")):
        if found and number % 4 == 0:
            assert found.optimal, tree.__name__
        if found and not found.optimal:
            assert "max_num_states=16" in found.note
