"""What the best configs of one machine reach on another, of data sets."""

from __future__ import annotations

import pytest
from toy_tasks import entry

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
from tilewright_cli.bench.workloads import Workloads
from tilewright_records.store.store import JsonlRecordStore


def config(number):
    return ConfigEntity("toy.loop", {"number": number})


@pytest.fixture
def folder(tmp_path):
    """A function that makes a data set: of each size its times by number, None of a failure."""

    def make(name, times):
        path = tmp_path / name
        path.mkdir()
        tasks = {
            size: entry(size, networks={"net": float(size)} if size > 8 else {}) for size in times
        }
        workloads = Workloads()
        workloads.add(tasks.values(), 0, None, 0)
        workloads.write(path / "tasks.json")
        records = []
        for size, own in times.items():
            for number, seconds in own.items():
                asked = MeasureInput(tasks[size].task, config(number), Conditions())
                failed = MeasureResult((), failure=Failure(FailureKind.RUN_ERROR))
                result = failed if seconds is None else MeasureResult((seconds * 2, seconds))
                records.append(Record.of(Trial(asked, result), Device(name), 1))
        JsonlRecordStore(path / "records.jsonl").append(records)
        return path

    return make


@pytest.mark.needs("records", "cli")
def test_the_share_is_of_what_the_networks_take(folder, module):
    numbers = range(8)
    # Each machine's own ninth config is the fastest there; of those of both, `a` takes 0, `b` 1.
    rising = {number: 2.0 + number for number in numbers}
    a = folder("a", {16: rising | {8: 1.0}, 32: rising, 8: rising})
    falling = {number: 10.0 - number for number in numbers}
    b = folder("b", {16: falling | {9: 1.0}, 32: falling | {0: None}, 64: rising})
    found = module("models.machine_matrix").matrix
    first, second = found([a, b], 1)
    assert (first.there, first.here, first.workloads, first.configs) == ("a", "b", 2, 16)
    # 16 times 1.0 and 32 times 3.0, of 16 times 10.0 and, as the failure, 32 times 9.0.
    assert first.share == pytest.approx((16 * 1 + 32 * 3) / (16 * 10 + 32 * 9))
    assert first.median == pytest.approx((1 / 10 + 3 / 9) / 2)
    assert second.share == pytest.approx((16 * 1 + 32 * 2) / (16 * 9 + 32 * 9))
    assert not list(found([a, b], 2))
