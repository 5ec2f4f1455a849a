"""`records diff`, `distil` and `ls --like`: what files hold beside each other, and the best of one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.vocabulary.record import Charge
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_cli.terminal.group import run
from tilewright_records.similarity import similarity
from tilewright_records.store.store import JsonlRecordStore

pytestmark = pytest.mark.needs("cli", "pipeline")

AUTOTVM = (
    '{"input": ["llvm", "dense_nopack.x86", [["TENSOR", [1, 8], "float32"], ["TENSOR", [8, 8],'
    ' "float32"], null, "float32"], {}], "config": {"entity": [["tile_y", "sp", [-1, %d]]]},'
    ' "result": [[%g], 0, 1, 1], "version": 0.2}\n'
)


@pytest.fixture
def files(tmp_path, monkeypatch, samples, toy):
    """Two records files: a task in both, one only in each; and the flags that load the toy plugin."""
    monkeypatch.chdir(tmp_path)

    def toy_record(size, width, seconds):
        workload = Workload(
            "toyadd", (TensorSpec((size,)), TensorSpec((1,), role="constant")), {"bias": 0}
        )
        record = samples.record(1, (seconds,), task=Task(workload, samples.task.target))
        config = replace(record.config, strategy="toy.loop", values={"unroll": 1, "width": width})
        asked = replace(record.trial.input, config=config)
        return replace(record, trial=replace(record.trial, input=asked))

    old = [toy_record(8, width, 1e-3 * width) for width in (4, 2, 3)]
    JsonlRecordStore(Path("old.jsonl")).append([*old, toy_record(16, 1, 5e-3)])
    JsonlRecordStore(Path("new.jsonl")).append([toy_record(8, 1, 1e-3), toy_record(64, 1, 9e-3)])
    return ["--plugin", str(toy)]


def told(capsys, *arguments):
    assert run(["records", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_diff_sets_the_best_times_beside_each_other(files, capsys):
    rows = told(capsys, "diff", "old.jsonl", "new.jsonl", *files)["tasks"]
    assert [(row["before"], row["after"]) for row in rows] == [
        (2e-3, 1e-3), (5e-3, None), (None, 9e-3),
    ]  # fmt: skip
    run(["records", "diff", "old.jsonl", "new.jsonl", *files])
    out = capsys.readouterr().out
    assert "2.000 ms became 1.000 ms, 2.00 times as fast" in out
    assert "1 tasks in both, 1 only in old.jsonl, 1 only in new.jsonl" in out


@pytest.mark.parametrize(("count", "left"), [(1, [2e-3, 5e-3]), (2, [2e-3, 3e-3, 5e-3])])
def test_distil_keeps_the_best_few_of_each_task_once(files, capsys, count, left):
    for added in (len(left), 0):
        arguments = ["old.jsonl", "--into", "best.jsonl", "--count", str(count)]
        assert told(capsys, "distil", *arguments, *files)["added"] == added
    assert [record.seconds for record in JsonlRecordStore(Path("best.jsonl")).records()] == left


def test_distilled_configs_are_ranked_as_in_the_log(files, capsys, samples):
    log = JsonlRecordStore(Path("old.jsonl"))
    first = next(iter(log.records()))

    def measured(width, seconds, turns=1):
        asked = first.trial.input
        config = replace(asked.config, values={"unroll": 1, "width": width})
        conditions = replace(asked.conditions, turns=turns)
        record = samples.record(1, (seconds,), task=first.task)
        trial = replace(record.trial, input=replace(asked, config=config, conditions=conditions))
        return replace(record, trial=trial, charge=Charge("stage", 1.0, 1))

    alone = [measured(5, 1.1e-4), measured(6, 1.0e-4), measured(7, 1.05e-4)]
    log.append([*alone, measured(6, 1.3e-4, 3), measured(7, 1.25e-4, 3)])
    told(capsys, "distil", "old.jsonl", "--into", "best.jsonl", "--count", "3", *files)
    best = {}
    for name in ("old.jsonl", "best.jsonl"):
        rows = told(capsys, "best", name, "--count", "3", *files)["records"]
        best[name] = [(row["config"], row["seconds"]) for row in rows]
    assert best["best.jsonl"] == best["old.jsonl"]
    assert not any(record.charge for record in JsonlRecordStore(Path("best.jsonl")).records())


@pytest.mark.needs("tensor")
def test_distil_takes_the_best_of_another_systems_log_and_of_what_was_imported_from_it(
    files, capsys
):
    Path("tvm.log").write_text(
        "".join(AUTOTVM % pair for pair in ((1, 3e-3), (2, 1e-3), (1, 2e-3)))
    )
    assert told(capsys, "distil", "tvm.log", "--into", "few.jsonl", "--count", "2")["added"] == 2
    times = [record.seconds for record in JsonlRecordStore(Path("few.jsonl")).records()]
    assert times == [1e-3, 2e-3]
    assert told(capsys, "distil", "few.jsonl", "--into", "best.jsonl")["added"] == 1
    assert run(["records", "diff", "few.jsonl", "old.jsonl", *files]) == 0
    err = capsys.readouterr().err
    assert err == "few.jsonl: 2 records of strategies not installed here left out\n"


def test_ls_lists_the_tasks_most_similar_to_one_first(files, capsys):
    run(["records", "merge", "old.jsonl", "--into", "new.jsonl", *files])
    capsys.readouterr()
    rows = told(capsys, "ls", "new.jsonl", "--like", "toyadd(32)", *files)["records"]
    assert [row["similarity"] for row in rows] == [0.5, 0.5, pytest.approx(1 / 3)]
    run(["records", "ls", "new.jsonl", "--like", "toyadd(64)", *files])
    assert "100% alike" in capsys.readouterr().out.splitlines()[0]


def test_workloads_are_alike_by_operator_shapes_and_attributes():
    def dense(rows, role="constant"):
        return Workload("dense", (TensorSpec((rows, 8)), TensorSpec((8, 8), role=role)))

    one = dense(4)
    assert similarity(one, one) == 1
    assert similarity(one, dense(8)) > similarity(one, dense(16)) > 0
    assert similarity(one, replace(one, operator="matmul")) == 0
    assert similarity(one, replace(one, attributes={"groups": 2})) == 0.5
    assert similarity(one, Workload("dense", (TensorSpec((4, 8)),))) == 0
