"""Which configs a graph tuner may choose from: what records know, and guesses."""

from __future__ import annotations

import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.config import ConfigEntity
from tilewright_graph.selection.candidates import find_candidates
from tilewright_graph.selection.effort import Effort
from tilewright_graph.selection.graph_tuning import tune_graph
from tilewright_graph.selection.prediction import recorded_seconds
from tilewright_graph.selection.solvers.exhaustive import ExhaustiveOptions, ExhaustiveTuner


def tune(extracted, context, **effort):
    tuner = ExhaustiveTuner(ExhaustiveOptions(), context.host)
    return tune_graph(extracted, tuner, context, Effort(**effort))


def test_the_best_record_of_each_layout_is_a_candidate(chain, context, record):
    task = chain.kernels[0].task
    record(task, 1, 3e-6)
    record(task, 8, 2e-6)
    record(task, 4, 5e-6)
    found = find_candidates(task, context)
    assert [(c.config["block"], c.seconds, c.recorded) for c in found] == [
        (8, 2e-6, True), (1, 3e-6, True), (4, 5e-6, True),
    ]  # fmt: skip
    assert find_candidates(task, context, max_sch_num=2) == found[:2]


def test_a_layout_that_had_lost_to_a_finalist_is_no_faster_a_candidate_than_that(
    chain, context, record
):
    task = chain.kernels[0].task
    record(task, 8, 2.0e-6)
    record(task, 1, 2.1e-6)
    record(task, 8, 2.5e-6, turns=3)
    first, second, *_ = find_candidates(task, context)
    assert (first.config["block"], first.seconds) == (8, 2.5e-6)
    assert (second.config["block"], second.seconds) == (1, pytest.approx(2.625e-6))
    assert recorded_seconds(task, second.config, context) == second.seconds


def test_without_a_record_the_fallback_is_estimated(chain, context):
    found = find_candidates(chain.kernels[0].task, context)
    assert {c.config["block"] for c in found} == {1, 4, 8}
    assert not any(c.recorded for c in found)
    assert len({c.seconds for c in found}) == 1
    assert found[0].seconds > 0


def test_the_best_in_another_layout_is_a_guess_until_it_is_measured(chain, context, record):
    task = chain.kernels[0].task
    record(task, 4, 2e-6)
    found = find_candidates(task, context)
    assert [(c.config["block"], c.seconds, c.recorded) for c in found] == [
        (4, 2e-6, True), (1, 2e-6, False), (8, 2e-6, False),
    ]  # fmt: skip


def test_what_failed_is_no_candidate(chain, context, record, fail):
    task = chain.kernels[0].task
    record(task, 1, 3e-6)
    fail(task, ConfigEntity("paper", {"block": 4}))
    assert [c.config["block"] for c in find_candidates(task, context)] == [1, 8]


def test_where_the_fallback_failed_there_are_other_guesses(chain, context, fail):
    task = chain.kernels[0].task
    fail(task, ConfigEntity("paper", {"block": 4}))
    found = find_candidates(task, context)
    assert {c.config["block"] for c in found} == {1, 8}
    assert not any(c.recorded for c in found)


def test_a_node_without_any_working_candidate_is_named(chain, context, measured, fail):
    for block in (1, 4, 8):
        fail(chain.kernels[1].task, ConfigEntity("paper", {"block": block}))
    with pytest.raises(UsageError) as error:
        tune(chain, context)
    first, second = str(error.value).splitlines()
    assert (
        first == "no candidate of max_pool2d(1x8x5x5, pool_size=3) works: build_error: out of paper"
    )
    assert second.startswith("  tune it")
