"""Several batches under way at a time, where the runner takes them: budget, history, losses, Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from concurrent.futures import Future

import pytest
from toy_fleet import WORKERS, FleetRunner, ToyFleet, lost
from toy_tasks import entry

from tilewright import Component, hookimpl
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.roles import BuildResult
from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.measure import MeasureInput, MeasureResult
from tilewright.vocabulary.task_set import TaskSet
from tilewright_pipeline.context.run_setup import make_context
from tilewright_pipeline.measuring.asked import Asked
from tilewright_pipeline.measuring.flights import Flights
from tilewright_pipeline.measuring.measurement import Measurement
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.tuning.loop import measure_configs, tune_tasks
from tilewright_pipeline.tuning.tune_report import TuningInterrupted

TASKS = TaskSet((entry(8), entry(16), entry(32)))


@pytest.fixture
def make(tmp_path, toy):
    """A function that gives a context whose runner is the fleet's."""

    def context(fleet, *observers, builder="toy"):
        return make_context(
            PluginHost.load([toy], [fleet, *observers]),
            name="t",
            folder=tmp_path / "run",
            target="toynative",
            runner=Choice("fleet"),
            builder=Choice(builder),
        )

    return context


def tune(context, tasks=TASKS, trials=60, **options):
    choices = {"tuner": Choice("toy"), "scheduler": Choice("toy")}
    return tune_tasks(
        tasks, context, TuneOptions(**choices, budget=Budget(trials=trials)), **options
    )


def searched(context):
    """How often each config was measured by itself, and not in turns with others."""
    return Counter(
        (record.task.key, record.config)
        for record in context.store.records()
        if record.trial.input.conditions.turns == 1
    )


def until_full(fleet):
    """Holds batches until as many as the runner takes are under way for the first time.

    Not the first one, of incumbents, which the search waits for.
    """
    fleet.before = lambda number: number > 0 and fleet.full.wait(60)
    return fleet


@pytest.mark.parametrize("tasks", [TASKS, TaskSet((entry(8),))], ids=["three tasks", "one task"])
def test_as_many_batches_are_under_way_as_the_runner_takes(make, tasks):
    fleet = until_full(ToyFleet(batches=4))
    tune(make(fleet), tasks)
    assert fleet.full.is_set()
    assert fleet.most == 4


def test_several_tasks_are_searched_at_a_time(make):
    """Though the scheduler would choose one and the same while nothing came back."""
    fleet, seen = ToyFleet(batches=3), set()

    def note(number):
        if number > 0:  # the first one has the incumbents
            fleet.full.wait(60)

    class Heard:
        @hookimpl
        def tilewright_batch_scheduled(self, progress):
            if progress.next_task is not None and not fleet.full.is_set():
                seen.add(progress.next_task)

    fleet.before = note
    tune(make(fleet, Heard()))
    assert seen == {0, 1, 2}


@pytest.mark.parametrize("trials", [1, 2, 7, 61])
def test_a_budget_in_trials_is_kept_exactly(make, trials):
    context = make(ToyFleet(batches=5))
    report = tune(context, trials=trials)
    assert report.measurement["trials"] == trials == len(context.store.records())


def test_the_stage_goes_on_with_exactly_what_is_left(make):
    tune(make(ToyFleet()), trials=20)
    context = make(ToyFleet())
    report = tune(context, trials=20, more=Budget(trials=13))
    assert report.measurement["trials"] == 13
    assert len(context.store.records()) == 33


def test_no_config_is_searched_twice_and_a_space_is_exhausted_all_the_same(make):
    context = make(ToyFleet(batches=6))
    report = tune(context, TaskSet((entry(8), entry(16))), trials=1000)
    counts = searched(context)
    assert len(counts) == 2 * 128
    assert set(counts.values()) == {1}
    assert {outcome.reason for outcome in report.outcomes.values()} == {"exhausted"}


def test_a_tuner_that_forgets_what_it_proposed_measures_nothing_twice(make):
    context = make(ToyFleet(batches=6))
    options = TuneOptions(
        tuner=Choice("toy", {"forgetful": True}), scheduler=Choice("toy"), budget=Budget(trials=100)
    )
    tune_tasks(TASKS, context, options)
    assert set(searched(context).values()) == {1}


def test_the_best_is_found_and_finalists_are_measured_in_turns(make):
    context = make(ToyFleet())
    report = tune(context, trials=450)
    for outcome in report.outcomes.values():
        assert (outcome.best_config["unroll"], outcome.best_config["width"]) == (8, 32)
    in_turns = [r for r in context.store.records() if r.trial.input.conditions.turns > 1]
    assert {record.task for record in in_turns} == {entry.task for entry in TASKS}


def test_records_name_the_device_that_measured_and_the_fingerprint_of_them_all(make):
    context = make(ToyFleet())
    tune(context)
    records = context.store.records()
    alone = {r.device for r in records if r.trial.input.conditions.turns == 1}
    assert alone == set(WORKERS)
    assert {record.device for record in records} == set(WORKERS)
    assert {record.fingerprint for record in records} == {context.device.fingerprint}


@pytest.mark.parametrize(
    ("devices", "kept"),
    [("aaa", "a"), ("aab", "a"), ("abb", "b"), ("ab", "b"), ("a", "a")],
)
def test_a_candidate_that_changed_its_device_between_turns_counts_on_one(devices, kept):
    runs = []
    for number, device in enumerate(devices):
        runs.append(Future())
        runs[-1].set_result(MeasureResult((1.0 + number,), device=device))
    result = Asked(None, BuildResult(None), runs).trial().result
    assert result.device == kept
    expected = [1.0 + number for number, device in enumerate(devices) if device == kept]
    assert list(result.costs) == expected


def test_what_failed_by_no_fault_of_its_own_is_measured_once_more_and_counts_once(make):
    fleet, first = ToyFleet(), set()

    def answer(asked, number):
        with fleet.lock:
            known = (asked.task.key, asked.config) in first
            first.add((asked.task.key, asked.config))
        return fleet.measured(asked, number) if known else lost(asked, number)

    fleet.answer = answer
    context = make(fleet)
    report = tune(context, trials=30)
    assert (report.measurement["trials"], report.measurement["failures"]) == (30, 0)
    assert not report.partial
    spoiled = [record for record in context.store.records() if record.trial.result.spoiled]
    assert len(spoiled) == len(first)


def test_a_lost_device_ends_no_run_while_others_are_left(make):
    fleet = ToyFleet()
    fleet.answer = lambda asked, n: lost(asked, n) if n % 4 == 1 else fleet.measured(asked, n)
    report = tune(make(fleet), trials=80)
    assert report.measurement["trials"] == 80
    assert not report.partial


def test_a_run_ends_where_no_device_is_left(make, caplog):
    fleet = ToyFleet()

    def gone(asked, number):
        if number < 6:
            return fleet.measured(asked, number)
        fleet.batches = 0
        return lost(asked, number)

    fleet.answer = gone
    report = tune(make(fleet), trials=1000)
    assert report.partial
    assert report.measurement["trials"] < 100
    assert "is lost, tuning ends: gone" in caplog.text


def test_a_device_that_joins_late_gets_batches_before_any_other_is_over(make):
    fleet = ToyFleet(batches=1)

    def before(number):
        if number == 1:
            fleet.full.clear()
            fleet.batches = 3
        if number > 0:
            fleet.full.wait(60)

    fleet.before = before
    tune(make(fleet))
    assert fleet.most == 3


def test_ctrl_c_keeps_what_came_back_and_awaits_nothing(make, soon):
    fleet = ToyFleet(batches=4)

    def before(number):
        if number == 5:
            os.kill(os.getpid(), signal.SIGINT)
        if number >= 5:
            fleet.closed.wait(60)

    fleet.before = before
    context = make(fleet)
    with soon(1), pytest.raises(TuningInterrupted) as caught:
        tune(context, trials=1000)
    records = context.store.records()
    assert fleet.closed.is_set()
    assert caught.value.report.measurement["trials"] == len(records) > 0
    assert not any(record.trial.result.spoiled for record in records)
    assert not [t for t in threading.enumerate() if t.name.startswith("tilewright-batch")]
    again = make(ToyFleet())
    tune(again, trials=100)
    assert len(again.store.records()) == len(records) + 100
    assert set(searched(again).values()) == {1}


def test_ctrl_c_while_a_batch_begins_waits_until_it_has_begun(make, monkeypatch):
    """In the middle of a thread's start it would leave locks of `threading` broken."""
    begun, begin = [], Flights.begin

    def interrupted(flights, flight):
        if len(begun) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        begin(flights, flight)
        begun.append(flight)

    monkeypatch.setattr(Flights, "begin", interrupted)
    with pytest.raises(TuningInterrupted):
        tune(make(ToyFleet()), trials=1000)
    assert len(begun) == 3


def test_an_error_of_the_builder_ends_the_run_and_names_its_plugin(make):
    class Broken:
        @hookimpl
        def tilewright_builders(self):
            return [Component("broken", "", lambda: lambda _options, _context: self)]

        def build(self, inputs):
            raise ZeroDivisionError("in the builder")

        def close(self):
            pass

    with pytest.raises(ZeroDivisionError) as error:
        tune(make(ToyFleet(), Broken(), builder="broken"))
    assert "in the builder 'broken' of " in "\n".join(error.value.__notes__)


def test_exactly_the_configs_that_are_asked_for_are_measured(make):
    fleet = until_full(ToyFleet(batches=2))
    context = make(fleet)
    asked = [
        (each, config)
        for each in TASKS
        for config in list(context.host.space(each.task).points())[:11]
    ]
    measure_configs(asked, context)
    assert searched(context) == Counter((each.task.key, config) for each, config in asked)
    assert fleet.most == 2


def test_configs_that_are_asked_for_and_interrupted_add_nothing_to_the_curve_of_the_network(make):
    fleet = ToyFleet(batches=2)
    context = make(fleet)
    asked = [(each, next(context.host.space(each.task).points())) for each in TASKS]
    measure_configs(asked, context)
    rest = [(each, c) for each in TASKS for c in list(context.host.space(each.task).points())[1:]]

    def before(number):
        if number == 6:
            os.kill(os.getpid(), signal.SIGINT)
            fleet.closed.wait(60)

    fleet.before = before
    with pytest.raises(TuningInterrupted) as caught:
        measure_configs(rest, context)
    assert caught.value.report.measurement["trials"] > 0
    assert caught.value.result.report["tuning_curve"] == []


def test_each_batch_comes_back_under_its_own_number(make):
    """The first one last, whichever of the two reaches the runner first."""
    fleet, over = ToyFleet(batches=2), threading.Event()
    context = make(fleet)
    points = list(context.host.space(entry(8).task).points())
    inputs = [MeasureInput(entry(8).task, config) for config in points[:4]]

    def answer(asked, number):
        if asked.config == points[0]:
            over.wait(60)
        return fleet.measured(asked, number)

    fleet.answer = answer
    with Measurement(context) as measurement:
        first, second = measurement.start(inputs[:1]), measurement.start(inputs[1:])
        assert (measurement.pending, measurement.has_room) == (4, False)
        ((number, trials),) = measurement.landed()
        assert number == second
        assert [trial.input for trial in trials] == inputs[1:]
        assert (measurement.pending, measurement.has_room) == (1, True)
        over.set()
        ((number, trials),) = measurement.landed()
        assert number == first
        assert [trial.input for trial in trials] == inputs[:1]


def at_once(monkeypatch, count):
    """Has that many batches be over before the first of them is looked at."""
    came = Flights.came

    def all_came(flights, seconds):
        found = []
        while len(found) < count:
            found += came(flights, seconds)
        return found

    monkeypatch.setattr(Flights, "came", all_came)


def test_batches_that_are_over_are_stored_in_one_append(make, monkeypatch):
    context = make(ToyFleet(batches=3))
    points = list(context.host.space(entry(8).task).points())
    inputs = [MeasureInput(entry(8).task, config) for config in points[:6]]
    appended, append = [], context.store.append

    def counted(records):
        appended.append([*records])
        append(appended[-1])

    monkeypatch.setattr(context.store, "append", counted)
    at_once(monkeypatch, 3)
    with Measurement(context) as measurement:
        began = [measurement.start(inputs[place : place + 2]) for place in (0, 2, 4)]
        landed = dict(measurement.landed())
        assert sorted(landed) == began
        assert [trial.input for number in began for trial in landed[number]] == inputs
        assert [len(records) for records in appended] == [6]
        assert (measurement.pending, measurement.spent.trials) == (0, 6)


def test_a_bug_in_one_batch_loses_none_of_the_others(make, monkeypatch):
    context = make(ToyFleet(batches=2))
    points = list(context.host.space(entry(8).task).points())
    inputs = [MeasureInput(entry(8).task, config) for config in points[:2]]
    run = FleetRunner.run

    def broken_once(runner, asked, builds):
        return [] if asked == inputs[:1] else run(runner, asked, builds)

    monkeypatch.setattr(FleetRunner, "run", broken_once)
    at_once(monkeypatch, 2)
    with Measurement(context) as measurement:
        for each in inputs:
            measurement.start([each])
        with pytest.raises(RuntimeError, match="answered 0; expected a result for each of 1"):
            measurement.landed()
    assert [record.config for record in context.store.records()] == [points[1]]
