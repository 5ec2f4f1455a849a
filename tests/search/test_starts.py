"""What a context's starts and prior do to the first proposals of tuners with a model."""

from __future__ import annotations

import random
from dataclasses import replace
from math import exp, log

import numpy as np
import pytest

from tilewright.space.config_space import ConfigSpace
from tilewright.vocabulary.config import ConfigEntity
from tilewright_search.models.experience import Experience
from tilewright_search.models.ranker import Ranker
from tilewright_testing.support.landscape import Landscape
from tilewright_testing.tuner import context_for

TUNERS = pytest.mark.parametrize("name", ["xgb", "evolutionary"])


def _batch(host, name, starts, landscape, history=(), count=16, prior=None, **options):
    known = context_for(landscape, host, history=history)
    context = replace(known, starts=starts, prior=prior)
    return host.make("tuner", name, {"epsilon": 0, **options}, context).propose(count)


def _starts(landscape, count=12):
    return landscape.space.sample(random.Random(3), count)


@TUNERS
def test_the_first_half_of_the_first_batch_are_starts_the_rest_is_as_without(host, name):
    landscape = Landscape(96)
    starts = _starts(landscape)
    led = _batch(host, name, starts, landscape)
    assert led[:8] == starts[:8]
    assert led[8:] == _batch(host, name, (), landscape)[:8]


@TUNERS
def test_half_a_batch_is_of_the_model_where_other_tasks_were_learned_from(host, name):
    other, landscape = Landscape(64), Landscape(96)
    history = other.measure_all(other.space.sample(random.Random(0), 64))
    starts = _starts(landscape)
    led = _batch(host, name, starts, landscape, history)
    alone = _batch(host, name, (), landscape, history)
    assert led[:8] == starts[:8]
    assert led[8:] == [each for each in alone if each not in starts[:8]][:8]


@TUNERS
def test_no_start_comes_back_once_a_batch_is_measured(host, name):
    landscape = Landscape(96)
    history = landscape.measure_all(landscape.space.sample(random.Random(0), 16))
    led = _batch(host, name, _starts(landscape), landscape, history)
    assert led == _batch(host, name, (), landscape, history)


@TUNERS
def test_starts_that_were_measured_or_lie_in_no_space_are_left_out(host, name):
    landscape = Landscape(96)
    starts = _starts(landscape)
    gone = ConfigEntity("gone", {"tile": 1})
    history = landscape.measure_all(starts[:2])
    led = _batch(host, name, [gone, *starts], landscape, history)
    assert led[:8] == starts[2:10]


@TUNERS
def test_a_space_that_is_nearly_used_up_is_proposed_to_its_end(host, name):
    landscape = Landscape(4)
    left = [*landscape.space.points()]
    history = landscape.measure_all(left[:5])
    led = _batch(host, name, left[:8], landscape, history, count=len(left))
    assert {*led} == {*left[5:]}


def _speeds(landscape):
    """A prior that knows the answer."""
    return lambda configs: [-log(landscape.true_seconds(config) or 1.0) for config in configs]


def _typical(landscape, batch):
    """Mean seconds of a batch, where a failure counts as slow."""
    return sum((landscape.true_seconds(config) or 3e-3) for config in batch) / len(batch)


@TUNERS
def test_three_quarters_of_the_first_batch_are_what_the_prior_rates_best(host, name):
    landscape = Landscape(96)
    led = _batch(host, name, (), landscape, prior=_speeds(landscape))
    alone = _batch(host, name, (), landscape)
    assert _typical(landscape, led[:12]) < _typical(landscape, alone) / 1.3
    assert led[12:] == [config for config in alone if config not in led[:12]][:4]


@TUNERS
def test_starts_are_among_what_the_prior_rates(host, name):
    landscape = Landscape(96)
    starts = _starts(landscape)

    def hope(good):
        return lambda configs: [float(config in good) for config in configs]

    led = _batch(host, name, starts, landscape, prior=hope(starts[6:]))
    assert {*starts[6:]} <= {*led[:12]}
    assert not {*starts[:6]} & {*led[:6]}


@TUNERS
def test_the_prior_comes_before_what_other_tasks_taught(host, name):
    other, landscape = Landscape(64), Landscape(96)
    history = other.measure_all(other.space.sample(random.Random(0), 64))
    prior = _speeds(landscape)
    led = _batch(host, name, (), landscape, history, prior=prior)
    assert led == _batch(host, name, (), landscape, prior=prior)


@TUNERS
@pytest.mark.parametrize("model", ["xgboost", "ridge"])
def test_the_model_of_the_run_goes_on_from_the_prior(host, name, model):
    landscape = Landscape(96)

    def typical(prior, seed):
        history = landscape.measure_all(landscape.space.sample(random.Random(seed), 16))
        batch = _batch(host, name, (), landscape, history, prior=prior, cost_model=model)
        return _typical(landscape, batch)

    led, alone = (
        sum(typical(prior, seed) for seed in range(4)) for prior in (_speeds(landscape), None)
    )
    assert led < alone / 1.03


def test_what_the_prior_says_counts_less_the_more_trials_there_are(host):
    """It is a share of the speed of the best that worked, whatever constant its ratings have."""
    landscape = Landscape(96)
    configs = landscape.space.sample(random.Random(0), 160)
    trials = landscape.measure_all(configs)
    failed = next(trial.input.config for trial in trials if trial.result.seconds is None)
    worked = [trial for trial in trials if trial.result.seconds is not None]
    slow = worked.pop().input.config

    def prior(some):
        return [100.0 if one == failed else 7.0 - (one == slow) for one in some]

    for count in (16, 64):
        history = [next(t for t in trials if t.input.config == failed), *worked[: count - 1]]
        context = context_for(landscape, host, history=history)
        ranker = Ranker(Experience.of(context, "knobs"), _Same(), prior)
        ranker.fit(landscape.task)
        scores = ranker.score(landscape.task, [worked[-1].input.config, slow])
        assert scores == pytest.approx([16 / count, 16 / count * exp(-4)])


class _Same:
    """A model to which all configs are alike."""

    def fit(self, features, scores, groups):
        pass

    def predict(self, features):
        return np.zeros(len(features), np.float32)


@TUNERS
def test_the_prior_leads_where_alternatives_are_left_that_nobody_tried(host, name):
    """A task with trials enough, none of what its best did not leave out."""
    landscape = Landscape(96)
    narrow, wide = landscape.space.alternatives
    history = landscape.measure_all(ConfigSpace([narrow]).sample(random.Random(0), 20))
    context = context_for(landscape, host, history=history, space=ConfigSpace([wide]))
    asked = []

    def prior(configs):
        asked.extend(configs)
        return _speeds(landscape)(configs)

    led = host.make("tuner", name, {"epsilon": 0}, replace(context, prior=prior)).propose(16)
    alone = host.make("tuner", name, {"epsilon": 0}, context).propose(16)
    assert asked
    assert _typical(landscape, led[:12]) < _typical(landscape, alone)


@TUNERS
def test_a_led_search_that_was_stopped_goes_on_as_it_would_have(host, name):
    landscape = Landscape(96)
    context = replace(context_for(landscape, host), prior=_speeds(landscape))
    tuner, history = host.make("tuner", name, {}, context), []
    for _ in range(3):
        trials = landscape.measure_all(tuner.propose(16))
        tuner.observe(trials)
        history += trials
    again = replace(context_for(landscape, host, history=history), prior=_speeds(landscape))
    assert host.make("tuner", name, {}, again).propose(16) == tuner.propose(16)
