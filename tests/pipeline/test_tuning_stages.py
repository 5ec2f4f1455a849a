"""When a tuning stage is one that was finished before, what is left of one, and what comes later."""

from __future__ import annotations

import pytest
from toy_tasks import entry

from tilewright import Component, hookimpl
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Conditions, MeasureInput, MeasureResult, Trial
from tilewright.vocabulary.record import Record
from tilewright.vocabulary.task_set import TaskSet
from tilewright_pipeline.context.run_setup import make_context
from tilewright_pipeline.options.budget_text import parse_budget
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.tuning.history import adopted_configs, known_trials
from tilewright_pipeline.tuning.loop import tune_tasks
from tilewright_pipeline.tuning.tune_report import TuningInterrupted

EIGHT = entry(8)


class OtherNames:
    """The toy's parts under other names."""

    def __init__(self):
        self.host = None

    @hookimpl
    def tilewright_runners(self):
        return [Component("other", "as the toy", self._load("runner"))]

    @hookimpl
    def tilewright_builders(self):
        return [Component("other", "as the toy", self._load("builder"))]

    @hookimpl
    def tilewright_tuners(self):
        return [Component("other", "as the toy", self._load("tuner"))]

    @hookimpl
    def tilewright_task_schedulers(self):
        return [Component("other", "as the toy", self._load("scheduler"))]

    def _load(self, role):
        def load():
            toy = self.host.component(role, "toy")
            return lambda _, context: toy.load()(toy.options()(), context)

        return load


class Left:
    """Hears what is left of the budget before each batch, and in the end."""

    def __init__(self):
        self.told = []

    @hookimpl
    def tilewright_batch_scheduled(self, progress):
        self.told.append(progress.left)


class StopsBefore:
    """Ctrl-C before the batch of this number."""

    def __init__(self, batch):
        self.left = batch

    @hookimpl
    def tilewright_batch_scheduled(self, progress):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.fixture
def make(tmp_path, toy):
    """A function that gives a fresh context over the same records file."""

    def context(heard=(), runner="toy", builder="toy", **options):
        names = OtherNames()
        names.host = PluginHost.load([toy], [names, *heard])
        return make_context(
            names.host,
            name="t",
            folder=tmp_path / "run",
            target="toynative",
            runner=Choice.parse(runner),
            builder=Choice.parse(builder),
            **options,
        )

    return context


@pytest.fixture
def tune(make):
    """A function that tunes with a budget of 30 trials."""

    def run(
        tasks=(EIGHT,),
        budget="30",
        tuner="toy",
        scheduler="toy",
        early_stopping=None,
        more=None,
        **of_context,
    ):
        return tune_tasks(
            TaskSet(tuple(tasks)),
            make(**of_context),
            TuneOptions(
                tuner=Choice.parse(tuner),
                scheduler=Choice.parse(scheduler),
                budget=parse_budget(budget),
                early_stopping=early_stopping,
            ),
            more=more,
        )

    return run


# --- equal stages


@pytest.mark.parametrize(
    "differs",
    [
        {"tuner": "other"},
        {"tuner": {"toy": {"batch": 3}}},
        {"scheduler": "other"},
        {"runner": "other"},
        {"runner": {"toy": {"lucky": 1e-9}}},
        {"builder": "other"},
        {"builder": {"toy": {"seconds": 1e-9}}},
        {"budget": "31"},
        {"early_stopping": 1000},
        {"tasks": (entry(16),)},
        {"tasks": (entry(8, 2.0),)},
        {"tasks": (entry(8, networks={"one": 1.0}),)},
        {"conditions": Conditions("warm")},
        {"conditions": Conditions(repeat=4)},
        {"strategies": "toy.*"},
        {"device": "toy1"},
        {"seed": 1},
        {"foreign_records": True},
    ],
    ids=str,
)
def test_a_stage_that_differs_in_one_thing_measures_again(tune, differs):
    tune()
    assert tune().skipped
    again = tune(**differs)
    assert not again.skipped
    assert again.measurement["trials"]


def test_the_order_of_tasks_and_options_written_out_make_no_other_stage(tune):
    tune([entry(8), entry(16)])
    assert tune([entry(16), entry(8)], tuner={"toy": {"batch": 4}}).skipped


def test_the_history_of_a_cold_run_holds_no_warm_trial(make, tune):
    tune(conditions=Conditions("warm"))
    tasks = TaskSet((entry(8),))
    assert known_trials(make(), tasks) == []
    assert len(known_trials(make(conditions=Conditions("warm")), tasks)) == 30


# --- what is left


@pytest.mark.parametrize("batch", [1, 3])
def test_more_is_added_to_what_an_interrupted_stage_has_left(tune, batch):
    with pytest.raises(TuningInterrupted) as stopped:
        tune(heard=[StopsBefore(batch)])
    spent, left = stopped.value.report.measurement["trials"], Left()
    assert (spent > 0) == (batch > 1)
    again = tune(more=Budget(trials=5), heard=[left])
    assert again.measurement["trials"] == 30 - spent + 5
    assert (left.told[0], left.told[-1]) == (Budget(trials=30 - spent + 5), Budget(trials=0))
    assert tune().skipped


def test_more_in_another_unit_than_the_budget_is_refused(make, tune):
    with pytest.raises(UsageError, match=r"0.1s cannot be added to a budget in trials\n  give tr"):
        tune(more=Budget(seconds=0.1))
    assert not make().store.records()
    tune()
    with pytest.raises(UsageError, match="give seconds"):
        tune(budget="1s", more=Budget(trials=1))
    assert len(make().store.records()) == 30


# --- incumbents


def found_on(device, context, width, seconds):
    """The store gets a time of another device."""
    config = ConfigEntity("toy.loop", {"unroll": 8, "width": width})
    asked = MeasureInput(EIGHT.task, config, Conditions())
    trial = Trial(asked, MeasureResult((seconds,)))
    context.store.append([Record.of(trial, Device(device), 1)])
    return config


def test_each_other_device_gives_its_best_however_fast_the_own_one_is(make, tune):
    tune()
    context = make(foreign_records=True)
    assert adopted_configs(context, EIGHT.task) == []
    found_on("slow", context, 30, 3.0)
    expected = [found_on("slow", context, 31, 2.0), found_on("fast", context, 32, 1e-9)]
    assert adopted_configs(context, EIGHT.task) == expected
    assert adopted_configs(make(), EIGHT.task) == []


def test_of_another_systems_log_the_fastest_few_of_each_device_come_first(make, monkeypatch):
    def adopt(self, task, foreign):
        return ConfigEntity("toy.loop", foreign.values)

    context = make()
    schedule = type(context.host.implementation("toy.loop"))
    monkeypatch.setattr(schedule, "adopt_config", adopt, raising=False)
    for device, times in (("far", (5.0, 2.0, 4.0, 1.0, 3.0)), ("farther", (0.5,))):
        for seconds in times:
            foreign = ConfigEntity("other:template", {"unroll": 8, "width": int(10 * seconds)})
            asked = MeasureInput(EIGHT.task, foreign, Conditions("warm"))
            trial = Trial(asked, MeasureResult((seconds,)))
            context.store.append([Record.of(trial, Device(device), 0)])
    found = [config["width"] for config in adopted_configs(context, EIGHT.task)]
    assert found == [5, 10, 20, 30, 40]


@pytest.mark.parametrize("trials", [1, 2])
def test_a_trial_or_two_more_are_measured_where_there_were_finalists(tune, trials):
    tune()
    assert tune(more=Budget(trials=trials)).measurement["trials"] == trials
