"""The graph tuner suites over every graph tuner that this repository ships, with options that weaken it too."""

from __future__ import annotations

from tilewright_graph.testing.graph_tuner import (
    ExactGraphTunerContract,
    GraphTunerContract,
    MaxErrorContract,
)


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


class TestExactToTheLastBit(MaxErrorContract):
    name = "exact"
    options = {"max_error_gap": 0}


class TestExactWithoutTime(GraphTunerContract):
    name = "exact"
    options = {"time_limit_seconds": 0}


class TestExhaustive(MaxErrorContract):
    name = "exhaustive"
