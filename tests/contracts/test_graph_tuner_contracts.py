"""The graph tuner suites over every graph tuner that this repository ships, with options that weaken it too."""

from __future__ import annotations

import pytest

from tilewright_graph.solvers.exhaustive import ExhaustiveOptions, ExhaustiveTuner
from tilewright_graph.testing.graph_tuner import ExactGraphTunerContract, GraphTunerContract


class TestGreedy(GraphTunerContract):
    name = "greedy"


class GivesUpOnMany:
    """A heuristic that keeps to the protocol: what it does not find it says by a ValueError."""

    def __init__(self, options, host):
        self.solver = ExhaustiveTuner(ExhaustiveOptions())

    def solve(self, problem):
        if len(problem.costs) > 4 and len(problem.costs[0]) == 1:
            raise ValueError("the first node leaves nothing to choose from, which is not for me")
        try:
            return self.solver.solve(problem)
        except ValueError:
            raise ValueError("nothing found") from None


class TestOneThatGivesUp(GraphTunerContract):
    @pytest.fixture
    def tuner(self, host):
        return GivesUpOnMany(None, host)


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
