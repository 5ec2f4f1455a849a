"""`History`: which records of a store count, bound once."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tilewright.vocabulary.measure import Conditions
from tilewright.vocabulary.task import Task
from tilewright_pipeline.dispatch.history import History
from tilewright_records.store.store import JsonlRecordStore


@pytest.fixture
def history(tmp_path, samples):
    """Of strategies plain and other; the space of a task has alternatives of plain only."""
    host = SimpleNamespace(
        backend=lambda kind: None,
        revisions={"plain": 1, "other": 1},
        permits=lambda strategy, task: True,
        space_within=lambda task, glob: object() if glob == "plain*" else None,
        selects=lambda glob, name: name.startswith(glob.rstrip("*")),
    )
    store = JsonlRecordStore(tmp_path / "records.jsonl")
    store.append(
        [
            samples.record(1, (4e-3,)),
            samples.record(2, (3e-3,), strategy="other"),
            samples.record(3, (2e-3,), constants="warm"),
            samples.record(4, (1e-3,), device=samples.elsewhere),
            samples.record(5, failure="crash"),
            samples.record(6, (1e-3,), task=samples.fused),
        ]
    )
    return History(store, host, samples.here, Conditions())


def told(history, task):
    """The numbers of the configs: ranked, failed, and the best of the kin."""
    ranked = [found.record.config["tile"][1] for found in history.ranked(task)]
    kin = history.kin(task)
    return ranked, [config["tile"][1] for config in history.failed(task)], kin and kin.config


def test_a_history_counts_what_its_device_conditions_and_strategies_measured(history, samples):
    assert told(history, samples.task) == ([2, 1], [5], samples.config(6))
    assert history.best(samples.task).config == samples.config(2, "other")
    assert history.count(samples.task) == (3, 1)
    assert told(replace(history, conditions=Conditions("warm")), samples.task) == ([3], [], None)
    assert told(replace(history, device=samples.elsewhere), samples.task) == ([4], [], None)
    assert told(replace(history, strategies="plain*"), samples.task)[0] == [1]


def test_a_glob_that_leaves_a_task_nothing_does_not_narrow_it(history, samples):
    assert told(replace(history, strategies="none*"), samples.task)[0] == [2, 1]
    assert replace(history, strategies="none*").narrowed(samples.task) == "*"


def test_a_condition_counts_in_place_of_the_strategies(history, samples):
    narrow = replace(history, strategies="plain*")
    other = narrow.best(samples.task, lambda config: config.strategy == "other")
    assert other.config == samples.config(2, "other")


class Twins:
    """Targets of one and of four threads have the same code."""

    def equal_targets(self, task):
        return [task.target.replace(threads=5 - task.target.threads)]


@pytest.fixture
def shared(history, samples):
    """The history with records of another target, for which `other` generates other code."""
    host = history.host
    host.backend = lambda kind: Twins()
    host.strategy = lambda name: SimpleNamespace(
        precision="bfloat16" if name.startswith("other") else "float32"
    )

    def twin(task):
        return Task(task.workload, task.target.replace(threads=5 - task.target.threads))

    history.store.append(
        [
            samples.record(1, (1e-3,), task=twin(samples.task)),
            samples.record(5, (5e-4,), task=twin(samples.task)),
            samples.record(7, (35e-4,), task=twin(samples.task)),
            samples.record(8, (1e-4,), strategy="other", task=twin(samples.task)),
            samples.record(9, failure="crash", task=twin(samples.task)),
            samples.record(7, failure="crash", task=samples.fused),
            samples.record(10, (5e-4,), task=twin(samples.fused)),
        ]
    )
    return history


def test_records_of_an_equal_target_count_behind_the_task_s_own(shared, samples):
    ranked, failed, kin = told(shared, samples.task)
    assert ranked == [2, 7, 1]  # 1 and 5 are known here, 8 has other code there
    assert failed == [9, 5]
    assert kin == samples.config(10)
    assert shared.count(samples.task) == (3 + 4, 1 + 1)
    assert len(shared.records(samples.task)) == 5 + 4


def test_records_of_an_equal_target_answer_where_the_task_has_none(shared, samples):
    elsewhere = Task(samples.task.workload, samples.task.target.replace(threads=4))
    own = replace(shared, conditions=Conditions("warm"))
    assert told(own, elsewhere)[0] == [3]
