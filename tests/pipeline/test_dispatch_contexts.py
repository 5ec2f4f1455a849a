"""Dispatch: who is asked first, what counts as an answer, and that stacks do not leak."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest

from tilewright.space.config_space import ConfigSpace
from tilewright.space.knobs import Knobs
from tilewright.strategies.dispatch import current
from tilewright.strategies.strategy import selects
from tilewright.vocabulary.measure import Conditions
from tilewright.vocabulary.record import GraphRecord
from tilewright_pipeline.dispatch.contexts import (
    ApplyConfig,
    ApplyFixedConfig,
    ApplyGraphBest,
    ApplyHistoryBest,
    FallbackContext,
)
from tilewright_pipeline.dispatch.history import History
from tilewright_records.store.store import JsonlRecordStore


class ToyHost:
    """A host with one strategy, whose spaces may differ by task."""

    revisions = {"plain": 1}

    def __init__(self, tiles=range(1, 10)):
        self.tiles = tiles

    def space(self, task):
        knobs = Knobs("plain/a")
        knobs.define_knob("tile", [[2, n] for n in self.tiles])
        knobs.define_knob("unroll", [False, True])
        return ConfigSpace([knobs.alternative()])

    def space_within(self, task, pattern):
        return self.space(task) if selects(pattern, "plain/a") else None

    def check_strategies(self, pattern, target, where):
        pass

    def backend(self, kind):
        return None

    def fallback_config(self, task, space):
        return space.first()


@pytest.fixture
def history(tmp_path, samples):
    store = JsonlRecordStore(tmp_path / "records.jsonl")

    def make(*records, host=None, where=None, **options):
        store.append(records)
        known = History(store, host or ToyHost(), samples.here, Conditions(), **options)
        return ApplyHistoryBest(known, where)

    return make


def test_outside_of_every_context_nobody_answers(samples):
    assert current().query(samples.task) is None


def test_the_inner_context_answers_and_asks_the_outer_where_it_cannot(history, samples):
    with FallbackContext(ToyHost()) as fallback, history(samples.record(4)) as best:
        assert current() is best
        assert current().query(samples.task).config == samples.config(4)
        other = replace(samples.task, target=samples.task.target.replace(threads=2))
        assert current().query(other).source == "fallback"
        assert fallback.query(samples.task).source == "fallback"
        with ApplyConfig(samples.config(1)):
            assert current().query(samples.task).config == samples.config(1)
        assert current() is best
    assert current().query(samples.task) is None


def test_history_says_seconds_and_source_of_the_exact_task(history, samples):
    answer = history(samples.record(4, (2e-3,)), samples.record(5, (1e-3,))).query(samples.task)
    assert (answer.config, answer.seconds) == (samples.config(5), 1e-3)
    assert answer.source.endswith("records.jsonl")


def test_history_prefers_the_exact_task_to_a_faster_kin(history, samples):
    context = history(samples.record(4, (1e-3,)), samples.record(5, (9e-3,), task=samples.fused))
    assert context.query(samples.fused).config == samples.config(5)


def test_an_answer_from_the_anchor_has_no_seconds_and_says_so(history, samples):
    answer = history(samples.record(4)).query(samples.fused)
    assert (answer.config, answer.seconds) == (samples.config(4), None)
    assert "another epilogue" in answer.source


def test_configs_that_the_space_does_not_hold_are_passed_over(history, samples):
    records = [samples.record(4, (1e-3,)), samples.record(5, (2e-3,))]
    assert history(*records, host=ToyHost([5])).query(samples.fused).config == samples.config(5)
    assert history(host=ToyHost([6])).query(samples.fused) is None
    assert history(strategies="other*").query(samples.task) is None
    assert history(where=lambda config: config["tile"][1] == 5).query(samples.task).seconds == 2e-3


def test_another_devices_records_are_no_answer(history, samples):
    assert history(samples.record(4, device=samples.elsewhere)).query(samples.task) is None


def test_conditions_follow_the_workload(history, samples):
    warm = [replace(spec, role="activation") for spec in samples.operands]
    task = replace(samples.task, workload=replace(samples.task.workload, inputs=tuple(warm)))
    context = history(samples.record(4, task=task), samples.record(5, task=task, constants="warm"))
    assert context.query(task).config == samples.config(5)


def test_graph_choices_go_by_node_and_leave_the_rest_to_others(samples):
    choice = GraphRecord("n1", samples.task, samples.config(7), "cpu", "f", 1)
    with FallbackContext(ToyHost()), ApplyGraphBest({"n1": choice}) as graph:
        assert graph.query(samples.task, "n1").config == samples.config(7)
        for task, node in ((samples.task, "n2"), (samples.task, None), (samples.fused, "n1")):
            assert graph.query(task, node).source == "fallback"


def test_a_graph_choice_that_is_refused_is_left_to_others(samples):
    choice = GraphRecord("n1", samples.task, samples.config(7), "cpu", "f", 1)
    graph = ApplyGraphBest({"n1": choice}, where=lambda _, config: config != samples.config(7))
    with FallbackContext(ToyHost()), graph:
        assert graph.query(samples.task, "n1").source == "fallback"


def test_a_fixed_config_is_the_first_of_the_alternatives_named(samples):
    context = ApplyFixedConfig(ToyHost(), "plain*")
    assert context.query(samples.task).config == ToyHost().space(samples.task).first()
    assert ApplyFixedConfig(ToyHost(), "none*").query(samples.task) is None
    assert FallbackContext(ToyHost(), "none*").query(samples.task) is None


def test_one_context_may_be_entered_twice(samples):
    context = ApplyConfig(samples.config(1))
    with context, ApplyConfig(samples.config(2)), context:
        assert current().query(samples.task).config == samples.config(1)
    assert current().query(samples.task) is None


def test_the_stack_is_restored_after_an_error(samples):
    with pytest.raises(KeyError), ApplyConfig(samples.config(1)):
        raise KeyError
    assert current().query(samples.task) is None


def test_threads_and_asyncio_tasks_have_stacks_of_their_own(samples):
    shared = ApplyConfig(samples.config(1))
    seen = []

    def work():
        seen.append(current().query(samples.task))
        with shared:
            seen.append(current().query(samples.task).config)

    with ApplyConfig(samples.config(2)):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == [None, samples.config(1)]

    async def enter(number):
        with ApplyConfig(samples.config(number)):
            await asyncio.sleep(0)
            return current().query(samples.task).config

    async def both():
        return await asyncio.gather(enter(3), enter(4))

    assert asyncio.run(both()) == [samples.config(3), samples.config(4)]
