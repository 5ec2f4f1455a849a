"""`tilewright bench trial`: where the time of a trial goes."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tilewright.errors import UsageError
from tilewright.vocabulary.measure import Conditions
from tilewright_measure.cli.bench_trial import trial
from tilewright_measure.local.options import LocalBuilderOptions
from tilewright_measure.local.trial_profile import TrialProfile

PHASES = ["search", "lower", "compile", "wait", "load", "check", "time", "store", "rest"]


def test_every_phase_of_every_trial_is_told():
    command = ["matmul(8x8, 8x8)", "--target", "x86:threads=1", "--count", "4", "--json"]
    done = CliRunner().invoke(trial, [*command, "--tuner", "random"], catch_exceptions=False)
    told = json.loads(done.stdout)
    assert (told["trials"], told["failures"]) == (4, 0)
    assert list(told["phases"]) == PHASES
    assert sum(phase["share"] for phase in told["phases"].values()) == pytest.approx(1)
    measured = ("lower", "compile", "load", "check", "time")
    assert all(0 < told["phases"][name]["median_ms"] < 10_000 for name in measured)


class _Record:
    def __init__(self, **timings):
        self.trial = self.input = self.result = self
        self.conditions = Conditions()
        self.timings = timings


def test_a_phase_has_the_median_and_the_90th_percentile_of_who_came_to_it():
    records = [_Record(time=ms * 1e-3) for ms in range(1, 10)] + [_Record()]
    split = {"time": sum(range(1, 10)) * 1e-3}
    measured = {"trials": 10, "failures": 1, "seconds": 0.09, "split": split}
    profile = TrialProfile.of(records, measured)
    (time,) = (phase for phase in profile.phases if phase.name == "time")
    assert (time.median_ms, time.mean_ms) == (pytest.approx(5), pytest.approx(4.5))
    assert time.p90_ms == pytest.approx(8.2)  # never above the largest
    assert time.share == pytest.approx(0.5)
    (rest,) = (phase for phase in profile.phases if phase.name == "rest")
    assert rest.share == pytest.approx(0.5)
    assert next(profile.lines()) == "10 trials, 1 failed, in 0.1 s: 111.1 a second"


def test_without_a_trial_there_is_nothing_to_tell():
    with pytest.raises(UsageError, match="no trial came back"):
        TrialProfile.of([], {"trials": 0, "failures": 0, "seconds": 0.0, "split": {}})


def test_what_builders_keep_a_run_waiting_beyond_their_own_work_is_told_as_wait():
    workers = LocalBuilderOptions().workers
    split = {"lower": 0.1 * workers, "compile": 0.2 * workers, "build": 0.4}
    measured = {"trials": 10, "failures": 0, "seconds": 1.0, "split": split}
    phases = {phase.name: phase for phase in TrialProfile.of([], measured).phases}
    assert phases["wait"].mean_ms == pytest.approx(10)
    told = {name: phase.share for name, phase in phases.items() if phase.share}
    expected = {"lower": 0.1, "compile": 0.2, "wait": 0.1, "rest": 0.6}
    assert told == pytest.approx(expected)
