"""Where nothing works, hardly anything does, or the space is none, one point or vast (D-23, D-24), or the device goes (D-34)."""

from __future__ import annotations

import math
import random

import pytest
from toy_tasks import entry

from tilewright import Component, hookimpl
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.measure import Failure, FailureKind, MeasureResult, Trial
from tilewright.vocabulary.task_set import TaskSet
from tilewright_pipeline.context.run_setup import make_context
from tilewright_pipeline.options.budget_text import parse_budget
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.tuning.loop import tune_tasks
from tilewright_pipeline.tuning.task_track import commonest_errors


@pytest.fixture
def tune(tmp_path, toy):
    """A function that tunes tasks of these sizes and gives the report and the store."""

    def run(*sizes, budget="1000", runner=(), tuner="toy", folder="run"):
        context = make_context(
            PluginHost.load([toy]),
            name="t",
            folder=tmp_path / folder,
            target="toynative",
            runner=Choice("toy", dict(runner)),
            builder=Choice("toy"),
        )
        report = tune_tasks(
            TaskSet(tuple(map(entry, sizes))),
            context,
            TuneOptions(tuner=Choice(tuner), scheduler=Choice("toy"), budget=parse_budget(budget)),
        )
        return report, context.store

    return run


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -1e-3, 0.0, 1e-300, 1e300])
def test_d17_a_time_that_cannot_be_is_no_time_whatever_runner_claims_it(tune, seconds):
    report, store = tune(8, budget="8", runner={"claims": seconds})
    assert {record.trial.result.failure.kind for record in store.records()} == {
        FailureKind.INVALID_RESULT
    }
    (outcome,) = report.outcomes.values()
    assert outcome.best_seconds is None
    assert outcome.errors == (f"invalid_result: {seconds!r} is no time in seconds (8 times)",)
    assert "NaN" not in store.path.read_text()
    assert "Infinity" not in store.path.read_text()


def test_d23_a_task_that_never_works_stops_after_a_bounded_number_and_says_why(tune, caplog):
    report, _ = tune(8, 16, runner={"fails": "all"})
    # 64 failures end a task; the batch they end in is measured whole.
    assert all(64 <= outcome.trials < 64 + 4 for outcome in report.outcomes.values())
    assert {outcome.reason for outcome in report.outcomes.values()} == {"dead"}
    assert f"t8: all {report.outcomes[entry(8).task.key].trials} trials failed" in caplog.text
    (first, second) = report.outcomes[entry(8).task.key].errors
    assert first in caplog.text
    assert second in caplog.text
    assert first.startswith("crash (SIGTOY): toy failure (")
    assert second.startswith("build_error (SIGTOY): toy failure (")


def test_d23_a_run_in_which_nothing_works_is_partial_in_bounded_time(pipeline_file, soon):
    from tilewright_pipeline.pipeline import Pipeline

    path = pipeline_file(tune="tuner: toy, budget: 10min", runner="fails: all")
    with soon(1):
        result = Pipeline.load(path).run()
    assert result.exit_code == 3
    assert result.report["measurement"]["trials"] <= 2 * 68


def test_d34_a_run_whose_device_is_lost_ends_at_once_and_is_partial(pipeline_file, caplog):
    from tilewright_pipeline.pipeline import Pipeline

    path = pipeline_file(tune="tuner: toy, budget: 1000", runner="lost_after: 40")
    result = Pipeline.load(path).run()
    assert result.exit_code == 3
    assert 40 < result.report["measurement"]["trials"] <= 60
    assert result.report["tasks"][0]["best_seconds"]
    assert "is lost, tuning ends: gone" in caplog.text


def test_a_run_whose_workers_are_killed_again_and_again_ends_with_a_line_and_is_partial(
    pipeline_file, caplog
):
    from tilewright_pipeline.pipeline import Pipeline

    runner = "lost_after: 40, killed: true"
    result = Pipeline.load(pipeline_file(tune="tuner: toy, budget: 1000", runner=runner)).run()
    assert result.exit_code == 3
    assert 40 < result.report["measurement"]["trials"] <= 60
    assert "workers are killed again and again, tuning ends: ended by SIGKILL" in caplog.text


def test_a_trial_whose_worker_was_killed_blames_no_config_and_is_measured_again(tune):
    report, store = tune(8, budget="20", runner={"spoils_first": True, "killed": True})
    (outcome,) = report.outcomes.values()
    assert (outcome.trials, report.measurement["failures"]) == (20, 0)
    spoiled = [record for record in store.records() if record.trial.result.spoiled]
    assert len(spoiled) > 10
    assert {record.config for record in spoiled} == {
        record.config for record in store.records() if record.seconds
    }


def test_d23_one_success_in_ten_is_enough(tune):
    report, store = tune(8, budget="100", runner={"fails": "most"})
    (outcome,) = report.outcomes.values()
    failures = sum(record.seconds is None for record in store.records())
    assert report.measurement["failures"] == outcome.failures == failures > 80
    assert outcome.best_config["width"] % 10 == 1
    assert outcome.best_config["width"] == max(
        r.config["width"] for r in store.records() if r.seconds
    )


def test_d23_a_space_of_one_point_is_measured_once_and_exhausted(tune, monkeypatch):
    monkeypatch.setenv("TOY_SPACE", "one")
    report, store = tune(8)
    (outcome,) = report.outcomes.values()
    assert (outcome.reason, outcome.trials, len(store.records())) == ("exhausted", 1, 1)
    assert (outcome.best_config["unroll"], outcome.best_config["width"]) == (4, 16)


def test_d23_an_empty_space_is_a_clear_error_before_anything_is_measured(
    tune, tmp_path, monkeypatch
):
    monkeypatch.setenv("TOY_SPACE", "none")
    with pytest.raises(UsageError) as error:
        tune(8)
    assert "no feasible config for toyadd(8) on toy:threads=1" in str(error.value)
    assert "toy.loop: (unroll * width) > 1000" in str(error.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.needs("search")
@pytest.mark.parametrize("tuner", ["toy", "random", "grid"])
def test_d23_a_space_of_1e15_points_is_tuned_like_any_other(tune, monkeypatch, soon, tuner):
    monkeypatch.setenv("TOY_SPACE", "vast")
    with soon(0.5):  # listing any part of the space would take hours
        report, store = tune(8, budget="60", tuner=tuner)
    assert report.measurement["trials"] in (58, 59, 60)
    assert all(record.seconds for record in store.records())


@pytest.mark.needs("search")
def test_equal_seed_and_records_give_equal_trials(tune):
    """Of everything except the clock."""
    runs = [
        [
            (r.task.key, r.config)
            for r in tune(8, 16, budget="80", tuner="random", folder=name)[1].records()
        ]
        for name in ("a", "b")
    ]
    assert runs[0] == runs[1]


def test_d23_a_space_of_1e15_points_gives_distinct_feasible_samples(toy, monkeypatch):
    monkeypatch.setenv("TOY_SPACE", "vast")
    space = PluginHost.load([toy]).space(entry(8).task)
    assert space.size > 1e15
    found = space.sample(random.Random(3), 500)
    assert len(set(found)) == 500
    assert all(space.is_valid(config) for config in found)


def test_d23_a_sample_of_1e15_points_takes_less_than_a_millisecond(toy, monkeypatch, soon):
    monkeypatch.setenv("TOY_SPACE", "vast")
    space = PluginHost.load([toy]).space(entry(8).task)
    with soon(1000 * 1e-3):
        space.sample(random.Random(3), 1000)


def test_d23_the_commonest_three_of_many_errors_are_told():
    kinds = [FailureKind.CRASH, FailureKind.BUILD_ERROR, FailureKind.RUN_ERROR, FailureKind.CRASH]
    trials = [
        Trial(None, MeasureResult(failure=Failure(kind, f"why {number % 4}\nwhere")))
        for kind, times in zip(kinds, (5, 9, 7, 2), strict=True)
        for number in [len(kind)] * times
    ]
    told = commonest_errors(trials)
    assert [text.partition(":")[0] for text in told] == ["build_error", "crash", "run_error"]
    assert [text.rpartition("(")[2] for text in told] == ["9 times)", "7 times)", "7 times)"]


@pytest.mark.parametrize("fault", ["check", "made"])
def test_what_measures_is_closed_where_the_runner_refuses_its_tasks(tmp_path, toy, fault):
    """Its workers would outlive the refusal otherwise."""
    closed = []

    class Part:
        def __init__(self, name):
            self.name = name
            if fault == "made" and name == "runner":
                raise UsageError("no room")

        def check_tasks(self, tasks):
            raise UsageError("no room")

        def close(self):
            closed.append(self.name)

    class Parts:
        @hookimpl
        def tilewright_builders(self):
            return [Component("part", "", lambda: lambda _options, _context: Part("builder"))]

        @hookimpl
        def tilewright_runners(self):
            return [Component("part", "", lambda: lambda _options, _context: Part("runner"))]

    context = make_context(
        PluginHost.load([toy], [Parts()]), name="t", folder=tmp_path, target="toynative",
        runner=Choice("part"), builder=Choice("part"),
    )  # fmt: skip
    with pytest.raises(UsageError, match="no room"):
        tune_tasks(TaskSet((entry(8),)), context, TuneOptions(tuner=Choice("toy"), scheduler=Choice("toy"), budget=Budget(trials=4)))  # fmt: skip
    assert closed == (["runner", "builder"] if fault == "check" else ["builder"])
