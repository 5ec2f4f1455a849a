"""A run without a record store: what it keeps in memory answers as a records file does."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.measure import Conditions
from tilewright.vocabulary.record import BudgetRecord, Charge, GraphRecord, Query
from tilewright.vocabulary.revisions import Revisions
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.task_set import WeightedTask
from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_pipeline.context.memory_store import MemoryRecordStore
from tilewright_pipeline.tuning.task_track import TaskTrack
from tilewright_records.store.store import JsonlRecordStore

INSTALLED = Revisions({"plain": 1, "other": 2}, {"was": "plain"})


@pytest.fixture(scope="module")
def drawn(samples):
    """(tasks, lists of records of every kind) that differ in all that a store tells apart."""
    wider = (TensorSpec((1, 9)), TensorSpec((5, 9), role="constant"))
    tasks = (
        samples.task,
        samples.fused,
        Task(samples.fused.workload, Target("elsewhere")),
        Task(Workload("dense", wider), samples.task.target),
    )
    task, number = st.sampled_from(tasks), st.integers(1, 3)
    device = st.sampled_from([samples.here, samples.here, samples.elsewhere])
    strategy = st.sampled_from(["plain/a", "plain/b", "was/a", "other", "theirs:one"])
    revision, stage = st.sampled_from([1, 1, 2]), st.sampled_from(["s", "t"])
    charge = st.none() | st.builds(Charge, stage, st.sampled_from([0.5, 2.0]), st.integers(0, 1))
    trial = st.builds(
        lambda charge, **drawn: replace(samples.record(**drawn), charge=charge),
        charge,
        number=number,
        costs=st.tuples(st.integers(1, 6).map(lambda tenths: tenths * 1e-4)),
        task=task,
        device=device,
        revision=revision,
        strategy=strategy,
        failure=st.sampled_from([None] * 6 + ["crash", "device_lost"]),
        constants=st.sampled_from(["cold", "cold", "warm"]),
        turns=st.sampled_from([1, 1, 3]),
    )
    choice = st.builds(
        lambda node, task, number, strategy, device, revision: GraphRecord(
            node, task, samples.config(number, strategy), device.name, device.fingerprint, revision
        ),
        *(st.sampled_from(["n0", "n1"]), task, number, strategy, device, revision),
    )
    spent = st.builds(
        lambda stage, device, finished, trials: BudgetRecord(
            stage, device.name, device.fingerprint, finished, 1.5, trials
        ),
        *(stage, device, st.booleans(), st.integers(0, 9)),
    )
    record = st.one_of(trial, trial, trial, trial, choice, spent)
    return tasks, st.lists(st.lists(record, max_size=20), max_size=4)


def answers(store, tasks, samples):
    """What a store says to every query."""
    yield [*store.records()], store.tasks(), store.stale(INSTALLED), store.targets(INSTALLED)
    yield store.devices(), store.devices(INSTALLED)
    for device in (samples.here, samples.elsewhere):
        mark = device.fingerprint
        yield store.trials(mark, INSTALLED), store.graph_choices(mark, INSTALLED)
        yield [store.spent(stage, device) for stage in ("s", "t", "u")]
    for task in tasks:
        yield [*store.records(task.key)], [*store.of_other_systems(task.workload, INSTALLED)]
    for query in queries(tasks, samples):
        yield store.count(query), [*store.ranked(query)], store.best(query)
        yield store.best_of_anchor(query), [*store.failed(query).items()]


def queries(tasks, samples):
    marks = [samples.here.fingerprint, samples.elsewhere.fingerprint]
    odd = (None, lambda config: config["tile"][1] % 2 == 1)
    some = (None, lambda name: name == "plain/a")
    for task, constants, mark, *asked in product(tasks, ("cold", "warm"), marks, odd, some):
        yield Query(task, Conditions(constants), mark, INSTALLED, *asked)


@given(data=st.data())
def test_memory_and_file_answer_every_query_alike(data, samples, drawn):
    tasks, lists = drawn
    with tempfile.TemporaryDirectory() as folder:
        file, memory = JsonlRecordStore(Path(folder) / "r.jsonl"), MemoryRecordStore(Path("none"))
        for records in data.draw(lists):
            file.append(records)
            memory.append(records)
        expected = list(answers(file, tasks, samples))
        assert list(answers(memory, tasks, samples)) == expected


@given(data=st.data())
def test_the_best_of_a_track_is_the_best_in_memory(data, samples, drawn):
    """As `test_tuning_finalists` has it of a file: the three rank by one rule."""
    tasks, lists = drawn
    store = MemoryRecordStore(Path("none"))
    for records in data.draw(lists):
        store.append(records)
    for query in queries(tasks, samples):
        if query.where is None and query.alternatives is None:
            track = TaskTrack(WeightedTask(query.task, 1.0, "t"), query.conditions, lambda: None)
            track.add(
                [
                    trial
                    for trial in store.trials(query.fingerprint, INSTALLED)
                    if trial.input.task == query.task
                    and trial.input.conditions.constants == query.conditions.constants
                ],
                fresh=False,
            )
            best = store.best(query)
            assert track.best == (best and best.trial)


# --- runs without the distribution that keeps records


@pytest.fixture
def no_records(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "records")


SAYS_SO = "no record store is installed: this run keeps its history in memory only"


def test_a_run_without_a_record_store_keeps_its_history_in_memory_and_says_so(
    no_records, call, pipeline_file, tmp_path, caplog
):
    code, out, _ = call("run", str(pipeline_file()), "--json")
    report = json.loads(out)
    assert (code, caplog.text.count(SAYS_SO)) == (0, 1)
    assert sum(task["trials"] for task in report["tasks"]) == 20
    assert not list(tmp_path.rglob("*.jsonl"))


def test_tune_without_a_record_store_finds_the_best_config(no_records, call, tmp_path, caplog):
    toys = (f"--{role}=toy" for role in ("tuner", "scheduler", "runner", "builder"))
    asked = ("tune", "toyadd(64)", "--target=toynative", "--budget=160", "--json", *toys)
    code, out, _ = call(*asked)
    found = json.loads(out)
    assert (code, caplog.text.count(SAYS_SO), found["trials"]) == (0, 1, 132)
    assert found["best_seconds"] == pytest.approx(64e-6 * 3)
    assert not list(tmp_path.rglob("*.jsonl"))


def test_the_python_function_tunes_without_a_record_store(no_records, toy, tmp_path, caplog):
    made = dict.fromkeys(("tuner", "scheduler", "runner", "builder"), "toy")
    host, file = PluginHost.load([toy]), tmp_path / "r.jsonl"
    result = tilewright.tune(
        "toyadd(64)", target="toynative", budget=160, records=file, host=host, **made
    )
    assert result.seconds == pytest.approx(64e-6 * 3)
    assert SAYS_SO in caplog.text
    assert not file.exists()
