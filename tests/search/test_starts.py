"""What the starts of a context do to the first proposals of tuners with a model."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tilewright.vocabulary.config import ConfigEntity
from tilewright_testing.support.landscape import Landscape
from tilewright_testing.tuner import context_for

TUNERS = pytest.mark.parametrize("name", ["xgb", "evolutionary"])


def _batch(host, name, starts, landscape, history=(), count=16):
    context = replace(context_for(landscape, host, history=history), starts=starts)
    return host.make("tuner", name, {"epsilon": 0}, context).propose(count)


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
