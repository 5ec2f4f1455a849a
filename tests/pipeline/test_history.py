"""`History`: which records of a store count, bound once."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tilewright.vocabulary.measure import Conditions
from tilewright_pipeline.dispatch.history import History
from tilewright_records.store.store import JsonlRecordStore


@pytest.fixture
def history(tmp_path, samples):
    """Of strategies plain and other; the space of a task has alternatives of plain only."""
    host = SimpleNamespace(
        revisions={"plain": 1, "other": 1},
        permits=lambda strategy: True,
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
