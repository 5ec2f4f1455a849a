from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tilewright.vocabulary.measure import Failure, FailureKind, MeasureResult
from tilewright_testing.support.landscape import Landscape
from tilewright_testing.tuner import context_for, run


def test_grid_goes_through_the_space_in_order_of_index(host):
    landscape = Landscape()
    tuner = host.make("tuner", "grid", {}, context_for(landscape, host))
    proposed = [landscape.space.index(config) for config in run(tuner, landscape, 48)]
    expected = [i for i in range(landscape.space.size) if landscape.space.is_index_valid(i)][:48]
    assert proposed == expected


def test_grid_fills_gaps_that_a_history_left(host):
    landscape = Landscape()
    unbroken = run(
        host.make("tuner", "grid", {}, context_for(landscape, host)), landscape, 12, count=4
    )
    history = landscape.measure_all(unbroken[1::2])
    tuner = host.make("tuner", "grid", {}, context_for(landscape, host, history=history))
    assert list(tuner.propose(6)) == unbroken[::2]


def test_a_parent_that_fails_when_it_is_measured_again_has_no_more_children(host):
    landscape = Landscape()
    sample = landscape.space.sample(random.Random(0), 40)
    trials = [trial for trial in landscape.measure_all(sample) if trial.result.costs]
    failed, lost = (
        [replace(t, result=MeasureResult(failure=Failure(kind))) for t in trials[:8]]
        for kind in (FailureKind.RUN_TIMEOUT, FailureKind.DEVICE_LOST)
    )
    histories = (trials, trials + lost, trials + failed, failed + trials[8:])
    options = {"population": 2}
    known, spoiled, measured_again, never_worked = (
        host.make(
            "tuner", "genetic", options, context_for(landscape, host, history=history)
        ).propose(16)
        for history in histories
    )
    assert known == spoiled != measured_again == never_worked


@pytest.mark.parametrize("name", ["random", "xgb"])
def test_another_seed_gives_another_search(host, name):
    landscape = Landscape()
    first, second = (
        host.make("tuner", name, {}, context_for(landscape, host, seed=seed)).propose(16)
        for seed in (0, 1)
    )
    assert len(set(first) & set(second)) < 4


def test_random_reaches_every_corner_of_the_space(host):
    landscape = Landscape()
    proposed = run(host.make("tuner", "random", {}, context_for(landscape, host)), landscape, 400)
    for alternative in landscape.space.alternatives:
        mine = [config for config in proposed if config.strategy == alternative.name]
        assert {config["place"] for config in mine} == {"none", "outer", "inner"}
        assert {config["ahead"] for config in mine} == {False, True}
