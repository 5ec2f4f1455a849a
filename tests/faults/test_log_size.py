"""D-08 and D-09: long logs. There is no index to lose: what queries need is made when a log is read.

The goals in time are asserted three times as large, because machines differ; the figures are printed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from dataclasses import replace

import pytest

from tilewright.vocabulary.measure import Conditions
from tilewright.vocabulary.record import Query
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_records.encoding import record_json
from tilewright_records.line import seal
from tilewright_records.store.store import JsonlRecordStore

TASKS = 100
MEASURE = """
import json, sys, time
from pathlib import Path
from tilewright.vocabulary.measure import Conditions
from tilewright_records.store.store import JsonlRecordStore
from tilewright.vocabulary.record import Query

def timed(make):
    start = time.perf_counter()
    made = make()
    return time.perf_counter() - start, made

load_seconds, store = timed(lambda: JsonlRecordStore(Path(sys.argv[1])))
((_, fingerprint),) = store.devices()
def best_of(task, where=None):
    return store.best(Query(task, Conditions(), fingerprint, {"plain": 1}, where=where))

# The least of five, as a busy machine may stop any; each of a task of its own, so all are the first.
tasks = store.tasks()
best_seconds = min(timed(lambda: best_of(task))[0] for task in tasks[:5])
odd = lambda config: config["tile"][1] % 2
some_seconds = min(timed(lambda: best_of(task, odd))[0] for task in tasks[-5:])
best = best_of(tasks[0])
# Not ru_maxrss, which starts at what the parent had.
(peak_kib,) = (int(line.split()[1]) for line in open("/proc/self/status") if "VmHWM" in line)
print(json.dumps({
    "records": len(store.records()), "bad": store.bad_lines, "best": best.seconds,
    "load_seconds": load_seconds, "best_ms": 1e3 * max(best_seconds, some_seconds),
    "peak_mib": peak_kib / 1024,
}))
"""


def write_log(path, count, samples):
    """A log of so many records of a hundred tasks, about 500 bytes each; the fastest has 1 us."""
    lines = []
    for width in range(1, TASKS + 1):
        inputs = (TensorSpec((1, width)), TensorSpec((5, width), role="constant"))
        task = Task(Workload("dense", inputs), samples.task.target)
        record = replace(samples.record(99887766, (1e-3,), task=task), sequence=11223344)
        body = seal(record_json(record)).partition(b',"crc"')[0].replace(b"%", b"%%")
        for pattern in ((b"99887766", b"%d"), (b"11223344", b"%d"), (b"[0.001]", b"[%r,%r,%r]")):
            body = body.replace(*pattern)
        lines.append(body)
    with path.open("wb") as file:
        for number in range(count):
            seconds = 1e-6 * (count - number)
            values = number, number, seconds, seconds, seconds
            body = lines[number % TASKS] % values
            file.write(b'%b,"crc":"%08x"}\n' % (body, zlib.crc32(body)))


def measured(path, capsys):
    command = [sys.executable, "-c", MEASURE, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    with capsys.disabled():
        sys.stdout.write(f" {path.stat().st_size / 1e6:.0f} MB: {done.stdout}")
    return found


@pytest.mark.parametrize(
    ("count", "seconds", "peak_mib"),
    [(100_000, 5, 256), pytest.param(1_000_000, 20, 1024, marks=pytest.mark.full)],
)
def test_d09_a_long_log_is_read_and_asked_for_the_best(
    tmp_path, samples, capsys, soon, count, seconds, peak_mib
):
    path = tmp_path / "records.jsonl"
    write_log(path, count, samples)
    with soon(seconds):
        found = measured(path, capsys)
    assert (found["records"], found["bad"]) == (count, 0)
    assert found["best"] == pytest.approx(1e-6 * TASKS)
    assert found["best_ms"] < 20 * found["load_seconds"]  # a fiftieth: nothing is read again
    assert found["peak_mib"] < peak_mib
    assert [each.name for each in tmp_path.iterdir()] == ["records.jsonl"]


def test_d08_nothing_beside_the_log_is_kept_and_every_reader_answers_alike(tmp_path, samples):
    path = tmp_path / "records.jsonl"
    write_log(path, 1000, samples)
    early = JsonlRecordStore(path)
    JsonlRecordStore(path).append([samples.record(7, (1e-9,)), samples.record(8, failure="crash")])
    early.refresh()
    late = JsonlRecordStore(path)
    query = Query(samples.task, Conditions(), samples.here.fingerprint, {"plain": 1})
    for ask in (
        lambda store: store.best(query),
        lambda store: store.count(query),
        lambda store: store.failed(query),
        lambda store: list(store.ranked(query)),
        lambda store: store.tasks(),
        lambda store: store.devices(),
        lambda store: list(store.records()),
    ):
        assert ask(early) == ask(late)
    assert early.best(query).seconds == 1e-9
    assert [each.name for each in tmp_path.iterdir()] == ["records.jsonl"]
