"""What a tuner is told of its run: batch, device, conditions, the budget, and what is left of it."""

from __future__ import annotations

import pytest
from toy_tasks import entry

from tilewright import Component, hookimpl
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice, Options
from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.task_set import TaskSet
from tilewright_pipeline.context.run_setup import make_context
from tilewright_pipeline.options.budget_text import parse_budget
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.tuning.loop import tune_tasks
from tilewright_testing.support.landscape import Landscape
from tilewright_testing.tuner import context_for

TASKS = TaskSet((entry(8), entry(16)))


class BatchOptions(Options):
    batch: int = 16


class Curious:
    """Proposes in order, and writes down what it is told."""

    made: list = []
    left: list = []

    def __init__(self, options, context):
        self.context, self.points = context, context.space.points()
        self.made.append(context)

    def propose(self, count):
        self.left.append(self.context.left())
        return [config for config, _ in zip(self.points, range(count), strict=False)]

    def observe(self, trials):
        pass


class Plugin:
    @hookimpl
    def tilewright_tuners(self):
        return [Component("curious", "asks", lambda: Curious, lambda: BatchOptions)]


@pytest.fixture
def tune(tmp_path, toy, monkeypatch):
    """tune(budget, options): the contexts of a stage's tuners, and what was left at each proposal."""
    host = PluginHost.load([toy], [Plugin()])

    def run(budget, more=None, **options):
        monkeypatch.setattr(Curious, "made", [])
        monkeypatch.setattr(Curious, "left", [])
        context = make_context(
            host,
            name="t",
            folder=tmp_path / "run",
            target="toynative",
            runner=Choice("toy"),
            builder=Choice("toy"),
        )
        tune_tasks(
            TASKS,
            context,
            TuneOptions(
                tuner=Choice("curious", options),
                scheduler=Choice("toy"),
                budget=parse_budget(budget),
            ),
            more=more and parse_budget(more),
        )
        return context, Curious.made, Curious.left

    return run


def test_a_tuner_knows_what_it_is_asked_for_and_where_it_is_measured(tune):
    run, made, _ = tune(40, batch=5)
    assert [each.batch for each in made] == [5, 5]
    assert {each.device for each in made} == {run.device}
    for each in made:
        assert each.conditions == run.conditions.for_task(each.task)


def test_a_tuner_is_told_what_is_left_of_a_budget_of_trials(tune):
    _, made, left = tune(40, batch=5)
    assert {each.budget for each in made} == {Budget(trials=40)}
    counts = [each.trials for each in left]
    assert counts[0] == 40 - len(list(TASKS))  # the incumbents
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] > 0


def test_what_earlier_runs_spent_is_not_left(tune):
    tune(40)
    _, made, left = tune(40, more="20")
    assert {each.budget for each in made} == {Budget(trials=20)}
    assert left[0] == Budget(trials=20)


def test_a_tuner_is_told_the_seconds_that_are_left(tune):
    _, made, left = tune("0.5s")
    assert {each.budget for each in made} == {Budget(seconds=0.5)}
    assert all(0 <= later.seconds < 0.5 for later in left)
    assert left[-1].seconds <= left[0].seconds


def test_outside_of_a_run_there_is_no_device_and_no_end(toy):
    context = context_for(Landscape(), PluginHost.load([toy]))
    told = (context.batch, context.device, context.conditions, context.budget, context.left())
    assert told == (16, None, None, None, None)
