"""What a ranking of unmeasured configs does to the first proposals of tuners with a model."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest

from tilewright_testing.support.landscape import Landscape
from tilewright_testing.tuner import context_for

TUNERS = pytest.mark.parametrize("name", ["xgb", "evolutionary"])


@dataclass
class Ranked:
    """Knows a landscape: its times are right, or upside down."""

    landscape: Landscape
    starts: tuple = ()
    sign: float = 1.0
    told: str = "a test"

    def scores(self, configs):
        seconds = (self.landscape.true_seconds(config) or 1.0 for config in configs)
        return [self.sign * (self.landscape.best_seconds / each - 1) for each in seconds]


def _batch(host, name, ranking, landscape, history=(), count=16):
    context = replace(context_for(landscape, host, history=history), ranking=ranking)
    return host.make("tuner", name, {"epsilon": 0}, context).propose(count)


def _typical(landscape, configs):
    return sum(landscape.true_seconds(config) or 3e-3 for config in configs) / len(configs)


@TUNERS
def test_what_a_ranking_puts_first_is_proposed_first(host, name):
    landscape = Landscape(96)
    led = _batch(host, name, Ranked(landscape), landscape)
    alone = _batch(host, name, None, landscape)
    assert len({*led}) == 16
    assert _typical(landscape, led) < _typical(landscape, alone) / 1.1
    assert _batch(host, name, Ranked(landscape), landscape) == led


@TUNERS
def test_its_starts_are_among_the_first_half(host, name):
    landscape = Landscape(96)
    starts = tuple(landscape.space.sample(random.Random(3), 12))
    led = _batch(host, name, Ranked(landscape, starts, sign=0.0), landscape)
    assert len({*led[:8]} & {*starts}) == 8


@TUNERS
def test_a_quarter_is_random_in_case_a_ranking_is_wrong(host, name):
    landscape = Landscape(96)
    wrong = _batch(host, name, Ranked(landscape, sign=-1.0), landscape)
    alone = _batch(host, name, None, landscape)
    assert {*alone[:4]} <= {*wrong}


@TUNERS
def test_a_wrong_ranking_is_seen_through_once_a_batch_is_measured(host, name):
    landscape = Landscape(96)
    history = landscape.measure_all(landscape.space.sample(random.Random(0), 16))
    starts = tuple(landscape.space.sample(random.Random(3), 12))
    led = _batch(host, name, Ranked(landscape, starts, sign=-1.0), landscape, history)
    alone = _batch(host, name, None, landscape, history)
    assert not {*led} & {*starts}
    assert _typical(landscape, led) < 1.2 * _typical(landscape, alone)


@TUNERS
def test_half_a_batch_is_of_a_ranking_where_other_tasks_were_learned_from(host, name):
    other, landscape = Landscape(64), Landscape(96)
    history = other.measure_all(other.space.sample(random.Random(0), 64))
    starts = tuple(landscape.space.sample(random.Random(3), 12))
    led = _batch(host, name, Ranked(landscape, starts, sign=0.0), landscape, history)
    assert {*led[:4]} <= {*starts}
    assert len({*led}) == 16
    assert _typical(landscape, led[8:]) < _typical(landscape, led[:8]) / 1.1


@TUNERS
def test_a_space_that_is_nearly_used_up_is_proposed_to_its_end(host, name):
    landscape = Landscape(4)
    left = [*landscape.space.points()]
    history = landscape.measure_all(left[:5])
    ranking = Ranked(landscape, tuple(left[:8]))
    led = _batch(host, name, ranking, landscape, history, count=len(left))
    assert {*led} == {*left[5:]}


def test_a_ranking_that_gives_no_numbers_is_named(host):
    landscape = Landscape(96)
    ranking = Ranked(landscape)
    ranking.scores = lambda configs: [float("nan")] * len(configs)
    with pytest.raises(ValueError, match=r"a finite number for each of \d+ configs: a test"):
        _batch(host, "xgb", ranking, landscape)
