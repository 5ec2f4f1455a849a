"""The record store: what is written comes back, and queries count only what is comparable."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.canonical import thaw
from tilewright.errors import UsageError
from tilewright.vocabulary.measure import Conditions
from tilewright.vocabulary.record import (
    BudgetRecord,
    Charge,
    ErrorBound,
    GraphRecord,
    Query,
    WonInNetwork,
)
from tilewright.vocabulary.revisions import Revisions
from tilewright_records.checks import verify_log
from tilewright_records.decoding import RecordDecoder
from tilewright_records.encoding import record_json
from tilewright_records.line import seal, unseal
from tilewright_records.merging import merge_logs
from tilewright_records.store.compact import compact_log
from tilewright_records.store.store import JsonlRecordStore
from tilewright_records.store.trial_index import TrialIndex

DATA = Path(__file__).parent / "data"
INSTALLED = {"plain": 1}


@pytest.fixture
def store(tmp_path):
    return JsonlRecordStore(tmp_path / "records.jsonl")


def best(store, samples, task=None, **options):
    return store.best(query(samples, task or samples.task, **options))


def query(samples, task, **options):
    return Query(task, Conditions(), samples.here.fingerprint, INSTALLED, **options)


def test_every_kind_of_record_comes_back_as_it_was(store, samples):
    graph = GraphRecord("n0", samples.fused, samples.config(3), "cpu", samples.here.fingerprint, 1)
    bound = ErrorBound(1e-2, {"bfloat16:float32": 2e-3})
    within = replace(graph, node="n1", bound=bound)
    won = WonInNetwork("net", "conv", over=samples.config(2))
    inside = replace(graph, node="n2", won=won)
    budget = BudgetRecord("s", "cpu", samples.here.fingerprint, True, 59.5, 200)
    written = [samples.record(1), samples.record(2, failure="crash"), graph, within, inside, budget]
    store.append(written)
    again = JsonlRecordStore(store.path)
    assert list(again.records()) == [replace(r, sequence=i) for i, r in enumerate(written[:2])]
    assert again.graph_choices(samples.here.fingerprint, INSTALLED) == {
        "n0": replace(graph, sequence=2),
        "n1": replace(within, sequence=3),
        "n2": replace(inside, sequence=4),
    }
    assert again.spent("s", samples.here) == (True, 59.5, 200)
    assert again.spent("s", samples.elsewhere) == (False, 0, 0)


def test_d38_a_round_trip_of_a_line_is_byte_identical(store, samples):
    store.append([samples.record(1), samples.record(2, failure="wrong_answer")])
    for line in store.path.read_bytes().splitlines(keepends=True):
        assert seal(record_json(RecordDecoder().decode(unseal(line[:-1])))) == line


def test_d38_files_of_version_1_are_read_for_ever():
    report = verify_log(DATA / "records-v1.jsonl")
    assert report.kinds == {"trial": 3, "graph": 1, "budget": 1}
    assert [number for number, _ in report.bad] == [4]
    assert (report.other_versions, report.torn) == (1, False)
    store = JsonlRecordStore(DATA / "records-v1.jsonl")
    fused = store.records()[0]
    assert fused.task.key == "d8b64d6430e4c196@toy:threads=2"
    assert (fused.config.strategy, thaw(fused.config.values)) == (
        "plain/a",
        {"tile": [2, 1], "unroll": True},
    )
    assert (fused.seconds, fused.revision, fused.sequence) == (2e-3, 1, 0)
    assert str(store.records()[1].trial.result.failure.kind) == "crash"
    assert store.spent("stage-hash", _device_of(fused)).trials == 12


def _device_of(record):
    class Device:
        fingerprint = record.fingerprint

    return Device


def test_best_is_the_smallest_median_under_equal_conditions(store, samples):
    store.append(
        [
            samples.record(1, (5e-3, 5e-3, 1e-9)),
            samples.record(2, (2e-3, 4e-3, 9e-3), repeat=10),
            samples.record(3, (1e-3,), constants="warm"),
            samples.record(4, (1e-3,), device=samples.elsewhere),
            samples.record(5, (1e-3,), revision=2),
            samples.record(6, (1e-3,), strategy="gone/x"),
            samples.record(7, failure="crash"),
            samples.record(8, (1e-3,), task=samples.fused),
        ]
    )
    assert best(store, samples).config == samples.config(2)
    there = replace(query(samples, samples.task), fingerprint=samples.elsewhere.fingerprint)
    assert store.best(there).config == samples.config(4)
    narrowed = best(store, samples, where=lambda config: config["tile"][1] != 2)
    assert narrowed.config == samples.config(1)
    assert store.stale(INSTALLED) == {"plain": 1}
    assert sum(store.devices().values()) == 8


def test_of_a_config_measured_again_the_last_measurement_counts(store, samples):
    store.append(
        [samples.record(1, (1e-3,)), samples.record(2, (2e-3,)), samples.record(1, (3e-3,))]
    )
    assert best(store, samples).config == samples.config(2)
    store.append([samples.record(2, failure="wrong_answer")])
    assert best(store, samples).seconds == 3e-3
    store.append([samples.record(1, failure="device_lost")])
    assert best(store, samples).seconds == 3e-3


def test_what_had_lost_to_finalists_is_taken_to_slow_down_as_they_did(store, samples):
    times = ((1, 1.0, 1), (2, 1.1, 1), (3, 1.2, 1), (1, 1.5, 3), (2, 1.4, 3), (4, 2.0, 1))
    store.append(
        samples.record(number, (seconds,), turns=turns) for number, seconds, turns in times
    )
    asked = query(samples, samples.task)
    found = [(record.config["tile"][1], seconds) for record, seconds in store.ranked(asked)]
    assert found == [(2, 1.4), (1, 1.5), (3, 1.2 * 1.4 / 1.1), (4, 2.0)]
    finalists = {samples.config(1), samples.config(2)}
    narrowed = replace(asked, where=lambda config: config not in finalists)
    assert store.best(narrowed).config == samples.config(3)


def test_a_race_is_one_where_its_finalists_bear_a_new_name(store, samples):
    """Else what had lost by a lucky short time under the name of before would lead."""
    now = "plain.toy/a"
    store.append(
        [
            samples.record(1, (1.0,)),
            samples.record(2, (1.2,)),
            samples.record(1, (1.5,), strategy=now, turns=3),
        ]
    )
    revisions = Revisions({"plain.toy": 1}, {"plain": "plain.toy"})
    asked = replace(query(samples, samples.task), revisions=revisions)
    found = [(record.config, seconds) for record, seconds in store.ranked(asked)]
    assert found == [(samples.config(1, now), 1.5), (samples.config(2, now), 1.2 * 1.5 / 1.0)]
    assert store.count(asked) == (3, 0)
    assert store.stale(Revisions({"plain.toy": 2}, {"plain": "plain.toy"})) == {"plain.toy": 3}


def test_a_narrowed_query_counts_what_it_asks_for(store, samples):
    store.append(
        [
            samples.record(1),
            samples.record(1, failure="device_lost"),
            samples.record(1),
            samples.record(2, failure="crash"),
            samples.record(3, strategy="plain/b"),
        ]
    )
    asked = query(samples, samples.task)
    assert store.count(asked) == (5, 2)
    assert store.count(replace(asked, where=lambda config: config["tile"][1] == 1)) == (3, 1)
    assert store.count(replace(asked, where=lambda config: config.strategy == "plain/b")) == (1, 0)


def test_trials_of_some_alternatives_are_counted_without_reading_a_record(
    store, samples, monkeypatch
):
    renamed = Revisions(INSTALLED, {"was": "plain"})
    store.append(
        [
            samples.record(1),
            samples.record(2, failure="crash", strategy="was/a"),
            samples.record(3, strategy="plain/b"),
        ]
    )
    monkeypatch.delattr(TrialIndex, "record")
    wanted = {"revisions": renamed, "alternatives": lambda name: name == "plain/a"}
    assert store.count(replace(query(samples, samples.task), **wanted)) == (2, 1)


def test_trials_are_of_this_device_and_these_revisions_failures_included(store, samples):
    kept = [
        samples.record(1),
        samples.record(2, failure="crash"),
        samples.record(3, task=samples.fused),
    ]
    store.append(
        [*kept, samples.record(4, device=samples.elsewhere), samples.record(5, revision=9)]
    )
    here = samples.here.fingerprint
    assert store.trials(here, INSTALLED) == [record.trial for record in kept]


@given(
    st.dictionaries(
        st.text(),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(),
            lambda part: st.lists(part) | st.dictionaries(st.text(), part),
            max_leaves=8,
        ),
    )
)
def test_any_json_object_survives_a_line(data):
    data.pop("crc", None)
    data["kind"] = "any"
    line = seal(data)
    assert line.count(b"\n") == 1
    assert unseal(line[:-1]) == data


def test_merging_a_log_and_its_compacted_copy_changes_neither(samples, tmp_path):
    def charged(number, seconds):
        return replace(samples.record(number, (seconds,)), charge=Charge("stage", 2.0, 1))

    full, short = tmp_path / "full.jsonl", tmp_path / "short.jsonl"
    JsonlRecordStore(full).append([charged(1, 1e-3), charged(2, 3e-3), charged(1, 1.4e-3)])
    shutil.copy(full, short)
    compact_log(short)
    stores = [JsonlRecordStore(path) for path in (full, short)]
    for source, into in ((full, stores[1]), (short, stores[0])):
        merge_logs([source], into)
        assert merge_logs([source], into).added == 0
    for store in stores:
        (task,) = store.tasks()
        last = {record.config: record.seconds for record in store.records(task.key)}
        assert sorted(last.values()) == [1.4e-3, 3e-3]
        spent = store.spent("stage", samples.here)
        assert (spent.seconds, spent.trials) == (6.0, 3)


def test_merge_takes_each_record_once_and_numbers_anew(samples, tmp_path):
    paths = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]
    for path, numbers in zip(paths, [(1, 2), (2, 3)], strict=True):
        JsonlRecordStore(path).append([samples.record(n) for n in numbers])
    with paths[1].open("ab") as file:
        file.write(b"rubbish")
    into = JsonlRecordStore(tmp_path / "all.jsonl")
    assert merge_logs(paths, into) == (3, 0)
    assert [record.config["tile"][1] for record in into.records()] == [1, 2, 3]
    assert [record.sequence for record in into.records()] == [0, 1, 2]
    assert merge_logs(paths, into) == (0, 0)


def test_verify_names_bad_lines_and_a_torn_end(store, samples):
    store.append([samples.record(1), samples.record(2)])
    with store.path.open("ab") as file:
        file.write(b"rubbish\n{")
    report = verify_log(store.path)
    assert [number for number, _ in report.bad] == [3]
    assert report.torn
    assert report.kinds["trial"] == 2


def test_an_editor_of_another_system_does_not_damage_lines(store, samples):
    store.append([samples.record(1), samples.record(2)])
    store.path.write_bytes(store.path.read_bytes().replace(b"\n", b"\r\n"))
    assert len(JsonlRecordStore(store.path).records()) == 2
    assert verify_log(store.path).bad == ()


def test_a_file_that_was_replaced_is_read_anew(store, samples):
    store.append([samples.record(n) for n in range(5)])
    other = JsonlRecordStore(store.path.with_name("other.jsonl"))
    other.append([samples.record(9)])
    shutil.move(other.path, store.path)
    store.append([samples.record(10)])
    assert [record.config["tile"][1] for record in store.records()] == [9, 10]


def test_nothing_is_created_before_the_first_append(tmp_path, samples):
    path = tmp_path / "deep" / "er" / "records.jsonl"
    with pytest.raises(UsageError, match="folder does not exist"):
        JsonlRecordStore(path)
    store = JsonlRecordStore(path, create_parents=True)
    assert list(tmp_path.iterdir()) == []
    store.append([samples.record(1)])
    assert len(JsonlRecordStore(path).records()) == 1
