"""The fastest of a task are measured in turns before a stage ends: one lucky time does not win."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from toy_tasks import entry

from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import (
    Conditions,
    Failure,
    FailureKind,
    MeasureInput,
    MeasureResult,
    Trial,
)
from tilewright.vocabulary.record import Query, Record
from tilewright.vocabulary.task_set import TaskSet
from tilewright_pipeline.context.run_setup import make_context
from tilewright_pipeline.measuring.measurement import Measurement
from tilewright_pipeline.options.budget_text import parse_budget
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.tuning.budget_tracker import BudgetTracker
from tilewright_pipeline.tuning.loop import tune_tasks
from tilewright_pipeline.tuning.task_track import TaskTrack
from tilewright_pipeline.tuning.tune_report import TuningInterrupted
from tilewright_records.store.compact import compact_log
from tilewright_records.store.store import JsonlRecordStore


def run(tmp_path, toy, tasks, budget, host=None, **runner):
    context = make_context(
        host or PluginHost.load([toy]),
        name="t",
        folder=tmp_path / "run",
        target="toynative",
        runner=Choice("toy", runner),
        builder=Choice("toy"),
    )
    tuner = Choice("toy", {"batch": 8})
    report = tune_tasks(
        TaskSet(tuple(tasks)),
        context,
        TuneOptions(tuner=tuner, scheduler=Choice("toy"), budget=parse_budget(budget)),
    )
    return report, context


def measured(context):
    return [(record.task, record.config) for record in context.store.records()]


def test_a_config_that_was_lucky_once_loses_its_lead(tmp_path, toy):
    # With these missing seconds two of the first configs of width 7 seem best.
    report, context = run(tmp_path, toy, [entry(1)], 60, lucky=5e-6)
    (outcome,) = report.outcomes.values()
    seconds = {}
    for record in context.store.records():
        seconds.setdefault(record.config, record.seconds)
    assert min(seconds, key=seconds.__getitem__)["width"] == 7
    best = outcome.best_config
    honest = {
        config: 1e-6 * (1 + 8 / config["unroll"] + 32 / config["width"]) for config in seconds
    }
    assert (best, outcome.best_seconds) == (
        min(honest, key=honest.__getitem__),
        pytest.approx(honest[best]),
    )
    assert context.history.best(entry(1).task).config == best


def _told(made, name, calls, monkeypatch):
    """Have every call of this method put down the configs it is asked for."""
    act = getattr(made, name)

    def told(self, inputs, *builds):
        calls.append([asked.config for asked in inputs])
        return act(self, inputs, *builds)

    monkeypatch.setattr(made, name, told)


def test_finalists_are_built_once_and_run_in_turns(tmp_path, toy, monkeypatch):
    host, builds, runs = PluginHost.load([toy]), [], []
    _told(host.component("builder", "toy").load(), "build", builds, monkeypatch)
    _told(host.component("runner", "toy").load(), "run", runs, monkeypatch)
    _, context = run(tmp_path, toy, [entry(8)], 50, host=host)
    trials = [record.trial for record in context.store.records()]
    assert len(trials) == 50
    again = Counter(trial.input.config for trial in trials)
    finalists = [trial for trial in trials if again[trial.input.config] > 1][-4:]
    assert [(len(trial.result.costs), trial.input.conditions.turns) for trial in finalists] == [
        (9, 3)
    ] * 4
    assert sum(trial.result.timings["time"] for trial in finalists) == pytest.approx(12e-3)
    own = [trial.input.config for trial in finalists]
    assert own in builds
    turns = [configs for configs in runs if set(configs) == set(own)]
    assert [len(turn) for turn in turns] == [4] * 3
    assert len(set(map(tuple, turns))) > 1


def test_a_finalist_that_failed_once_gets_no_further_turn(tmp_path, toy, monkeypatch):
    host, runs = PluginHost.load([toy]), []
    toy_runner = host.component("runner", "toy").load()
    act = toy_runner._one

    def one(self, asked):
        if asked.conditions.turns == 1 or asked.config not in (runs or [asked.config]):
            return act(self, asked)
        runs.append(asked.config)
        failed = Future()
        failed.set_result(MeasureResult(failure=Failure(FailureKind.RUN_TIMEOUT, "hangs")))
        return failed

    monkeypatch.setattr(toy_runner, "_one", one)
    _, context = run(tmp_path, toy, [entry(8)], 60, host=host)
    failed = [r.config for r in context.store.records() if r.trial.result.failure is not None]
    assert runs == failed != []


def test_the_budget_holds_with_finalists_in_it(tmp_path, toy):
    tasks = [entry(8), entry(16), entry(32)]
    report, context = run(tmp_path, toy, tasks, 100)
    assert report.measurement["trials"] == 100 == len(context.store.records())
    twice = [task for (task, _), count in Counter(measured(context)).items() if count == 2]
    assert {task.key for task in twice} == {one.task.key for one in tasks}


def _finalists(context):
    return Counter(
        r.task.key for r in context.store.records() if r.trial.input.conditions.turns > 1
    )


@pytest.mark.parametrize("stop_after", [50, 88, 93])
def test_a_stage_that_goes_on_measures_as_many_finalists(tmp_path, toy, monkeypatch, stop_after):
    tasks = [entry(8), entry(16), entry(32)]
    _, unbroken = run(tmp_path / "unbroken", toy, tasks, 100)
    host = PluginHost.load([toy])
    toy_runner = host.component("runner", "toy").load()
    act = toy_runner._one

    def one(self, asked):
        if self.runs == stop_after:
            raise KeyboardInterrupt
        return act(self, asked)

    monkeypatch.setattr(toy_runner, "_one", one)
    with pytest.raises(TuningInterrupted):
        run(tmp_path, toy, tasks, 100, host=host)
    report, context = run(tmp_path, toy, tasks, 100)
    assert report.measurement["trials"] > 0
    assert len(context.store.records()) == 100
    assert _finalists(context) == _finalists(unbroken)


def test_finalists_of_all_tasks_are_measured_in_turn_and_the_dearest_first(tmp_path, toy):
    tasks = [entry(8), entry(16), entry(32, weight=0.1)]
    _, context = run(tmp_path, toy, tasks, 70, lucky=1e-5)
    seen, again = set(), []
    for task, config in measured(context):
        if (task, config) in seen:
            again.append(task.workload.inputs[0].shape[0])
        seen.add((task, config))
    assert again[:6] == [16, 16, 8, 8, 32, 32]


def test_what_is_kept_for_finalists_and_not_needed_goes_to_the_search(tmp_path, toy):
    report, context = run(tmp_path, toy, [entry(8)], 60)
    assert report.measurement["trials"] in (58, 59, 60)
    counts = Counter(measured(context))
    assert max(counts.values()) == 2
    assert len(counts) >= 54


def test_nobody_overtakes_finalists_without_being_measured_in_turns(tmp_path, toy):
    for budget in range(22, 60, 2):  # with these missing seconds newcomers of width 7 seem best
        _, context = run(tmp_path / str(budget), toy, [entry(8)], budget, lucky=4e-5)
        turns = {r.config: r.trial.input.conditions.turns for r in context.store.records()}
        assert turns[context.history.best(entry(8).task).config] > 1


def test_a_tiny_budget_keeps_nothing_for_finalists(tmp_path, toy):
    _, context = run(tmp_path, toy, [entry(8), entry(16)], 9)
    assert max(Counter(measured(context)).values()) == 1


def test_a_second_run_measures_nothing_and_more_budget_repeats_no_finalist(tmp_path, toy):
    run(tmp_path, toy, [entry(8)], 200)
    report, context = run(tmp_path, toy, [entry(8)], 200)
    assert (report.skipped, report.measurement["trials"]) == (True, 0)
    before = len(measured(context))
    report, context = run(tmp_path, toy, [entry(8)], 201)
    assert (report.measurement["trials"], len(measured(context))) == (0, before)


def test_a_budget_in_seconds_keeps_time_for_finalists(tmp_path, toy, monkeypatch):
    monkeypatch.setenv("TOY_SPACE", "vast")
    runs, measure = [], Measurement.measure

    def counting(measurement, inputs):
        runs.extend(turn for one in inputs for turn in range(one.conditions.turns))
        return measure(measurement, inputs)

    monkeypatch.setattr(Measurement, "measure", counting)
    clock = SimpleNamespace(monotonic=lambda: 0.01 * len(runs))
    monkeypatch.setattr("tilewright_pipeline.tuning.budget_tracker.time", clock)
    report, context = run(tmp_path, toy, [entry(8), entry(16)], "1500ms")
    counts = Counter(measured(context))
    assert {task.key for (task, _), n in counts.items() if n == 2} == set(report.outcomes)


def test_the_curve_holds_the_predicted_total_from_the_first_full_set_of_times(tmp_path, toy):
    tasks = [entry(8, weight=2.0), entry(16)]
    report, _ = run(tmp_path, toy, tasks, 80)
    seconds, totals = zip(*report.curve, strict=True)
    assert list(seconds) == sorted(seconds)
    assert totals[0] == pytest.approx((2 * 8 + 16) * 1e-6 * 41)
    best = [report.outcomes[one.task.key].best_seconds for one in tasks]
    assert totals[-1] == pytest.approx(2 * best[0] + best[1])
    assert report.members["tuning_curve"][-1][1] == pytest.approx(totals[-1] * 1e3)
    assert report.curve[-1][0] <= report.measurement["seconds"]


def test_there_is_no_curve_while_a_task_has_no_time(tmp_path, toy):
    report, _ = run(tmp_path, toy, [entry(8)], 12, fails="all")
    assert report.curve == ()


def test_a_pace_turns_seconds_into_trials_by_what_they_took():
    spent = [0]
    pace = BudgetTracker(Budget(trials=20), lambda: spent[0])
    assert (pace.affordable(16), pace.affordable(16, keep=6)) == (16, 14)
    spent[0] = 15
    assert (pace.left, pace.affordable(16), pace.affordable(16, keep=6)) == (5, 5, 0)
    timed = BudgetTracker(Budget(seconds=1000.0), lambda: spent[0])
    spent[0] = 0
    assert (timed.trials(10.0), timed.affordable(16, keep=3)) == (0, 16)
    over = BudgetTracker(Budget(seconds=0.0), lambda: 3)
    assert over.affordable(16) == 0
    endless = BudgetTracker(Budget(seconds=float("inf")), lambda: 3)
    assert endless.affordable(16) == 16


def _trial(config, seconds, turns=1):
    config = ConfigEntity("toy.loop", {"unroll": 1, "width": config})
    result = MeasureResult(
        (seconds,) if seconds else (), None if seconds else Failure(FailureKind.CRASH)
    )
    return Trial(MeasureInput(entry(8).task, config, Conditions(turns=turns)), result)


def _track(*trials):
    track = TaskTrack(entry(8), Conditions(), lambda: None)
    for trial in trials:
        track.add([trial], fresh=True)
    return track


def _widths(configs):
    return [config["width"] for config in configs]


def test_the_few_fastest_are_finalists_until_one_of_them_was_measured_in_turns():
    assert _track(_trial(1, 1.0)).finalists == []
    short = [_trial(width, 1.0 + 0.1 * width) for width in range(9)]
    assert _widths(_track(*short).finalists) == [0, 1, 2, 3]
    done = [_trial(0, 2.0, turns=4), _trial(1, 1.9, turns=4)]
    assert _track(*short, *done).finalists == []
    # A newcomer that leads is compared with the finalists of before, not with those they beat.
    assert _widths(_track(*short, *done, _trial(20, 1.8)).finalists) == [20, 1, 0]


def test_what_was_slower_than_the_finalists_before_does_not_lead_after_they_were_measured():
    short = [_trial(width, 1.0 + 0.1 * width) for width in range(9)]
    track = _track(*short, _trial(0, 2.0, turns=4), _trial(1, 1.9, turns=4))
    assert (track.best.input.config["width"], track.best_seconds) == (1, 1.9)
    track.add([_trial(1, 0.0, turns=4)], fresh=True)
    assert track.best.input.config["width"] == 0
    only_failed = _track(*short, _trial(0, 0.0, turns=4))
    assert only_failed.best.input.config["width"] == 1


@pytest.mark.parametrize("seed", range(12))
def test_a_track_and_a_store_choose_alike_and_so_after_a_restart_and_compacting(tmp_path, seed):
    drawn = random.Random(seed)
    track, path = _track(), tmp_path / "log.jsonl"
    store, device = JsonlRecordStore(path), Device("toy0", {"model": "toy0"})
    query = Query(entry(8).task, Conditions(), device.fingerprint, {"toy.loop": 1})
    for _ in range(60):
        trial = _trial(
            drawn.randrange(12), drawn.choice([0.0, *range(1, 30)]), drawn.choice([1, 1, 1, 4])
        )
        store.append([Record.of(trial, device, 1)])
        track.add([trial], fresh=True)
        best = store.best(query)
        assert (best and best.config) == (track.best and track.best.input.config)
    before = track.best_seconds
    ranked = [(record.config, seconds) for record, seconds in store.ranked(query)]
    compact_log(path)
    again = JsonlRecordStore(path)
    assert [(record.config, seconds) for record, seconds in again.ranked(query)] == ranked
    assert (
        again.best(query).seconds
        == before
        == _track(*again.trials(device.fingerprint, query.revisions)).best_seconds
    )
