"""Hundreds of tasks and very many trials still make one small page, which says what it leaves out."""

from __future__ import annotations

import json
import random

import pytest
from page_reader import Page

import tilewright
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import (
    Conditions,
    Failure,
    FailureKind,
    MeasureInput,
    MeasureResult,
    Trial,
)
from tilewright.vocabulary.record import Record
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_records.store.store import JsonlRecordStore
from tilewright_report.pages.run_page import MOST_BYTES

TASKS = 500
DEVICE = Device("cpu", {"model": "one"})


def trial(task, drawn, number):
    config = ConfigEntity(
        f"conv.x86/{drawn.choice('abc')}",
        {"tile": [2, drawn.randrange(64)], "unroll": drawn.randrange(9), "number": number},
    )
    fails = drawn.random() < 0.1
    failure = Failure(drawn.choice(list(FailureKind)), "why") if fails else None
    costs = () if fails else tuple(drawn.lognormvariate(-8, 0.4) for _ in range(5))
    return Trial(MeasureInput(task, config, Conditions()), MeasureResult(costs, failure))


@pytest.mark.parametrize("trials", [10_000, pytest.param(100_000, marks=pytest.mark.full)])
def test_a_run_of_very_many_trials_has_a_small_page(trials, tmp_path):
    drawn, target = random.Random(0), Target.parse("x86:threads=1")
    tasks = [
        Task(Workload("dense", (TensorSpec((1, n)), TensorSpec((8, n), role="constant"))), target)
        for n in range(1, TASKS + 1)
    ]
    store = JsonlRecordStore(tmp_path / "records.jsonl")
    each = trials // TASKS
    store.append(
        Record.of(trial(task, drawn, number), DEVICE, 1) for task in tasks for number in range(each)
    )
    entries = [
        {"key": task.workload.key, "name": f"dense {place}", "operator": "dense", "weight": 1.0,
         "strategy": "conv.x86/a", "precision": "float32", "trials": each, "failures": 3,
         "best_seconds": 1e-4, "gflops": 1.0, "peak_share": 0.1}
        for place, task in enumerate(tasks)
    ]  # fmt: skip
    config = {"strategy": "conv.x86/a", "values": {"tile": [2, 3], "unroll": 1, "number": 1}}
    kernels = [
        {"nodes": [f"node {place}"], "task": entry["key"], "text": f"dense({place})", "bytes": 100,
         "operations": 1000, "config": config, "precision": "float32", "source": "history",
         "seconds": 1e-4, "sequence": 1, "samples": [1e-4] * 5, "reads": ["NC"], "makes": "NC"}
        for place, entry in enumerate(entries)
    ]  # fmt: skip
    report = {
        "version": 1, "name": "long", "target": str(target), "device": DEVICE.to_json(),
        "stages": [{"name": "tune", "status": "ok", "seconds": 1.0}], "tasks": entries,
        "measurement": {"trials": trials, "failures": 9, "seconds": 9.0, "trials_per_second": 9.0},
        "tuning_curve": [[float(n), 9.0 / (n + 1)] for n in range(5000)],
        "compile": {"kernels": kernels},
    }  # fmt: skip
    (tmp_path / "run.json").write_text(json.dumps(report))
    text = tilewright.report.html(tmp_path)
    page = Page(text)
    assert len(text.encode()) <= MOST_BYTES
    assert "The 120 that take longest, of 500." in page.text
    assert page.sections == ["run", "kernels", "layouts", "tuning", "landscape"]
    assert page.broken_links() == []
