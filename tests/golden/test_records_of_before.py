"""Records of every strategy, kept as they were written, count for ever.

`records.jsonl` is never written anew; a later name or form is appended. Where a strategy's
revision is raised, its lines here become stale by intention: RAISED names it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from generated_text import KINDS, host

from tilewright.canonical import thaw
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Conditions, FailureKind
from tilewright.vocabulary.record import GraphRecord, Query
from tilewright_pipeline.dispatch.contexts import ApplyHistoryBest
from tilewright_pipeline.dispatch.history import History
from tilewright_records.checks import verify_log
from tilewright_records.readers import read_log
from tilewright_records.store.store import JsonlRecordStore

FILE = Path(__file__).parent / "records.jsonl"
DEVICES = {
    "x86": Device("cpu", {"model": "golden", "cores": 2}),
    "cuda": Device("gpu0", {"model": "golden", "multiprocessors": 132}),
}
STAGES = {"x86": "31c19100a474b6df", "cuda": "184b39f1dee80d1b"}
RAISED = {
    "concat.x86",
    "concat_bf16.x86",
    "conv2d_depthwise.x86",
    "conv2d_winograd.cuda",
    "pool2d.x86",
    "top_places.x86",
}


@pytest.fixture(scope="module")
def store():
    return JsonlRecordStore(FILE)


@pytest.fixture(params=[pytest.param(kind, marks=pytest.mark.needs(kind)) for kind in KINDS])
def kind(request):
    return request.param


def records_of(store, kind):
    return [record for record in store.records() if record.task.target.kind == kind]


def counts(record):
    """Unless a raised revision made it stale by intention."""
    name = host().present(record.config).strategy.partition("/")[0]
    return name not in RAISED or record.revision == host().revisions[name]


def test_every_line_is_a_record():
    report = verify_log(FILE)
    assert report.kinds == {"trial": 136, "graph": 39, "budget": 2}
    assert (report.bad, report.other_versions, report.torn) == ((), 0, False)


def test_no_strategy_of_before_is_unknown_or_has_another_revision(store, kind):
    device = DEVICES[kind].name, DEVICES[kind].fingerprint
    revisions = host().revisions
    assert store.devices(revisions)[device] == len(records_of(store, kind))
    assert set(store.stale(revisions)) <= RAISED


def test_every_config_is_in_the_space_of_its_task(store, kind):
    for record in records_of(store, kind):
        config = host().present(record.config)
        assert host().space(record.task).is_valid(config), record.config.text
        assert config.strategy.partition("/")[0].endswith(f".{kind}")


def test_every_record_counts_for_its_task(store, kind):
    for record in filter(counts, records_of(store, kind)):
        conditions = record.trial.input.conditions
        query = Query(record.task, conditions, record.fingerprint, host().revisions)
        configs = [ranked.record.config for ranked in store.ranked(query)]
        found = [*configs, *store.failed(query)]
        config = host().present(record.config)
        assert config in found or record.trial.result.spoiled, record.config.text


def test_the_name_of_before_selects_what_was_recorded_under_it(store, kind, monkeypatch):
    # of two threads, from before these had conditions of their own
    monkeypatch.setattr(Conditions, "for_task", lambda self, _task: self)
    for record in filter(counts, records_of(store, kind)):
        if record.trial.result.failure is None and record.trial.input.conditions.turns > 1:
            values, conditions = thaw(record.config.values), record.trial.input.conditions
            history = History(store, host(), DEVICES[kind], conditions, record.config.strategy)
            context = ApplyHistoryBest(
                history, lambda config, values=values: thaw(config.values) == values
            )
            answer = context.find(record.task, None)
            assert answer is not None, record.config.text
            assert answer.seconds == record.seconds


def test_every_choice_of_a_graph_tuner_counts(store, kind):
    written = [
        record
        for _, record in read_log(FILE)
        if isinstance(record, GraphRecord) and record.task.target.kind == kind and counts(record)
    ]
    choices = store.graph_choices(DEVICES[kind].fingerprint, host().revisions)
    assert {(one.node, one.task) for one in written} == {
        (one.node, one.task) for one in choices.values()
    }
    for choice in choices.values():
        assert host().space(choice.task).is_valid(choice.config)


def test_every_failure_is_read(store):
    failures = [record.trial.result.failure for record in store.records()]
    assert {failure.kind for failure in failures if failure is not None} == set(FailureKind)


def test_what_stages_spent_is_read(store):
    assert store.spent(STAGES["x86"], DEVICES["x86"]) == (True, pytest.approx(16.5), 19)
    assert store.spent(STAGES["cuda"], DEVICES["cuda"]) == (False, pytest.approx(18.25), 26)
