"""Every tuner on whole spaces that were measured once."""

from __future__ import annotations

from statistics import median

import pytest

from tilewright_search.cli.recorded_spaces import recorded_spaces
from tilewright_testing.tuner import batches, context_for, run

SPACES = ("depthwise", "matmul")
TUNERS = ("grid", "random", "genetic", "xgb", "evolutionary")


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", TUNERS)
def test_a_tuner_gets_a_recorded_time_for_every_config_and_asks_for_none_twice(host, space, name):
    (recording,) = recorded_spaces(space)
    tuner = host.make("tuner", name, {}, context_for(recording, host))
    proposed = run(tuner, recording, 128)
    assert len(set(proposed)) == len(proposed) >= 128
    assert all(config in recording.space for config in proposed)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", ["xgb", "evolutionary"])
def test_a_model_comes_near_the_optimum_in_half_of_the_trials_of_chance(host, space, name):
    (recording,) = recorded_spaces(space)
    near = recording.count_within(2)
    # The median of drawing without replacement.
    chance = len(recording.results) * (1 - 0.5 ** (1 / near))
    assert median(_needed(host, recording, name, seed) for seed in range(15)) <= chance / 2


def _needed(host, recording, name, seed, limit=480):
    """Trials until one comes within 2 % of the optimum, or the limit."""
    context = context_for(recording, host, seed=seed)
    tuner = host.make("tuner", name, {"features": "knobs"}, context)
    done = 0
    for batch in batches(tuner, recording, 16):
        for trial in batch:
            done += 1
            seconds = trial.result.seconds
            if done == limit or (seconds and seconds <= 1.02 * recording.best_seconds):
                return done
    return limit
