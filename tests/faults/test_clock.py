"""D-18: the wall clock jumps. It is read to be told, and decides nothing."""

from __future__ import annotations

import itertools
import os
import re
import time
from pathlib import Path

import pytest

from tilewright import Pipeline
from tilewright_records.store.store import JsonlRecordStore

SHIPPED = [
    path
    for folder in ("core", "plugins")
    for path in (Path(__file__).parents[2] / folder).glob("**/src/**/*.py")
]
WALL_CLOCK = re.compile(
    r"\b(?:time\.(?:time|time_ns|localtime|gmtime|ctime|strftime)|(?:date|datetime)\.(?:now|utcnow|today))\("
)


def test_d18_no_other_shipped_file_reads_the_wall_clock():
    assert len(SHIPPED) > 100
    found = {path.name for path in SHIPPED if WALL_CLOCK.search(path.read_text("utf-8"))}
    # when they hold, when something happened, when a run began
    assert found == {"certificates.py", "event_file.py", "run_report.py"}


@pytest.fixture
def jumping_clock(monkeypatch):
    """A wall clock that goes back an hour, ten years ahead, and an hour for daylight saving."""
    now, jumps = [time.time()], itertools.cycle((-3600.0, 10 * 365 * 86400.0, 3600.0, 0.0))

    def jump():
        now[0] += next(jumps)
        return now[0]

    monkeypatch.setattr(time, "time", jump)
    monkeypatch.setattr(time, "time_ns", lambda: int(1e9 * jump()))
    return jump


def test_d18_a_budget_of_seconds_is_spent_by_a_clock_that_does_not_jump(
    jumping_clock, pipeline_file
):
    path = pipeline_file(tune="tuner: toy, budget: 1s", runner="seconds: 0.03", sizes="[8, 16, 24]")
    start = time.perf_counter()
    result = Pipeline.load(path).run()
    assert 0.7 < time.perf_counter() - start < 60
    assert 0 < result.report["measurement"]["trials"] <= 35
    assert all(0 <= stage["seconds"] < 60 for stage in result.report["stages"])


def test_d18_the_order_of_records_is_their_sequence_whatever_the_files_time(
    jumping_clock, tmp_path, samples
):
    path = tmp_path / "records.jsonl"
    for number in range(6):
        JsonlRecordStore(path).append([samples.record(number % 2, (1e-3 * (number + 1),))])
        os.utime(path, (jumping_clock() % 2**31,) * 2)
    store = JsonlRecordStore(path)
    assert [record.sequence for record in store.records()] == list(range(6))
    assert [trial.result.seconds for trial in store.trials(samples.here.fingerprint, {"plain": 1})][
        -2:
    ] == [5e-3, 6e-3]
