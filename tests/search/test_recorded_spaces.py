"""Every tuner on whole spaces that were measured once (benchmarks/record_space.py)."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from tilewright.vocabulary.measure import FailureKind
from tilewright_testing.support.recording import Recording
from tilewright_testing.tuner import batches, context_for, run

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("*.records.jsonl.gz"))
TUNERS = ("grid", "random", "genetic", "xgb", "evolutionary")


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.name.partition(".")[0])
def recording(request, host):
    return Recording(host, request.param)


def test_a_recorded_space_is_whole_large_and_hard(recording):
    results = [trial.result for trial in recording.measure_all(recording.space.points())]
    assert len(results) >= 2000
    missing = [r for r in results if r.failure and r.failure.kind is FailureKind.INVALID_CONFIG]
    assert not missing
    near = sum(
        r.seconds is not None and r.seconds <= 1.02 * recording.best_seconds for r in results
    )
    assert near <= 0.005 * len(results)


def test_recordings_are_small():
    assert sum(path.stat().st_size for path in DATA.glob("*")) < 1_000_000


@pytest.mark.parametrize("name", TUNERS)
def test_a_tuner_gets_a_recorded_time_for_every_config_and_asks_for_none_twice(
    host, recording, name
):
    tuner = host.make("tuner", name, {}, context_for(recording, host))
    proposed = run(tuner, recording, 128)
    assert len(set(proposed)) == len(proposed) >= 128
    assert all(config in recording.space for config in proposed)


@pytest.mark.parametrize("name", ["xgb", "evolutionary"])
def test_a_model_comes_near_the_optimum_in_half_of_the_trials_of_chance(host, recording, name):
    results = [trial.result.seconds for trial in recording.measure_all(recording.space.points())]
    near = sum(s is not None and s <= 1.02 * recording.best_seconds for s in results)
    chance = len(results) * (1 - 0.5 ** (1 / near))  # the median of drawing without replacement
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
