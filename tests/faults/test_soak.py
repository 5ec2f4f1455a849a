"""D-37: hours of measuring with one in a hundred of every fault lose no record and leak nothing.

An hour of it: `pytest -n 0 -s -m full tests/faults/test_soak.py --soak-seconds 3600`.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import threading
import time
from collections import Counter
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import pytest
from fault_bench import Bench

from tilewright.errors import UsageError
from tilewright.vocabulary.measure import FailureKind, Trial
from tilewright.vocabulary.record import Record
from tilewright_records.store.store import JsonlRecordStore

EACH = 0.01  # the share of every fault
BATCH = 16
SHAPES = (37,), (64, 8), (4099,)
LIMIT_SECONDS = 2
STUCK_SECONDS = 600  # a machine that does much else may start a worker in minutes
LOOK_EVERY = 20  # batches
LOG_MEASUREMENTS = 5000  # a log is held in memory: longer soaks write several

# What a candidate is asked to do, and what has to come of it: a failure, or None for a time.
FAULTS = [
    *(({"launch": act}, FailureKind.RUN_TIMEOUT) for act in ("hang_with_gil", "hang_deaf", "stop_itself")),
    *(
        ({"launch": act}, FailureKind.CRASH)
        for act in (
            *("segfault", "abort", "illegal", "divide", "overflow_stack", "leave"),
            *("print_then_die", "spawn_child", "spawn_daemon_and_die", "lose_the_device"),
        )
    ),
    *(
        ({"launch": act}, FailureKind.WRONG_ANSWER)
        for act in ("skips_the_tail", "writes_nan", "off_by_little", "writes_nothing")
    ),
    ({"wrong_when_used": 2, "wrong_when_fresh": 2}, FailureKind.WRONG_ANSWER),
    *(({"time": told}, FailureKind.INVALID_RESULT) for told in ("nan", "inf", "a billion", [-1.0], ["1"])),
    ({"launch": "eat_memory"}, FailureKind.OUT_OF_MEMORY),
    ({"launch": "fail"}, FailureKind.RUN_ERROR),
    ({"launch": "lose_the_device_innocently"}, FailureKind.DEVICE_LOST),
    *(
        ({"launch": act}, None)
        for act in (
            *("print_gigabyte", "print_frames", "leak", "spawn_daemon_and_go_on"),
            *("spoil_constant", "right_unless_spoilt"),
        )
    ),
    *(({"lower": act}, FailureKind.BUILD_TIMEOUT) for act in ("hang_with_gil", "fork_bomb")),
    ({"lower": "segfault"}, FailureKind.CRASH),
    ({"lower": "eat_memory"}, FailureKind.OUT_OF_MEMORY),
    ({"lower": "fail"}, FailureKind.BUILD_ERROR),
    *(({"lower": act}, None) for act in ("spawn_daemon", "print_gigabyte")),
]  # fmt: skip
NOBODYS_FAULT = {  # on a busy machine, or where a worker was killed
    FailureKind.RUN_TIMEOUT,
    FailureKind.BUILD_TIMEOUT,
    FailureKind.INTERNAL,
}


class Soak:
    """Measures, records, disturbs, and keeps an eye on what this process holds."""

    def __init__(self, host, log, residents):
        self.host, self.log, self.residents = host, log, residents
        self.rng = random.Random(37)
        self.asked = self.torn = self.first = 0  # the number of the log's first measurement
        self.kinds = Counter()
        self.unexpected = []
        self.held = []  # (descriptors, bytes, threads) from time to time
        self.happenings = [self.start_anew, self.tear_the_log, self.fill_the_disk]
        self.bench = None
        self.start_anew()

    def run(self, seconds):
        end = time.monotonic() + seconds
        for batch in range(10**9):
            if time.monotonic() > end:
                break
            with self.killing() if self.rng.random() < BATCH * EACH else nullcontext():
                self.measure([self.draw() for _ in range(BATCH)])
            for happens in self.happenings:
                if self.rng.random() < BATCH * EACH:
                    happens()
            if batch % LOOK_EVERY == 1:
                self.look()
        self.look()

    def draw(self):
        place = int(self.rng.random() / EACH)
        return FAULTS[place] if place < len(FAULTS) else ({}, None)

    def measure(self, drawn):
        os.truncate(os.environ["FAULT_CHILD"], 0)
        asked = []
        for values, _ in drawn:
            shape = self.rng.choice(SHAPES)
            asked.append(self.bench.ask(shape=shape, number=self.asked + len(asked), **values))
        futures = self.bench.runner.run(asked, self.bench.builder.build(asked))
        results = [future.result(STUCK_SECONDS) for future in futures]
        for (values, kind), result in zip(drawn, results, strict=True):
            got = result.failure.kind if result.failure else None
            if got != kind and got not in NOBODYS_FAULT:
                self.unexpected.append(f"{values}: {result}")
        trials = [Trial(*pair) for pair in zip(asked, results, strict=True)]
        self.store.append(Record.of(trial, self.bench.device, 1) for trial in trials)
        self.asked += len(asked)
        self.kinds.update(result.failure.kind if result.failure else "timed" for result in results)

    def look(self):
        """Of descriptors the fewest of three times: a worker that is just starting has more."""
        descriptors = 10**9
        for _ in range(3):
            self.measure([({}, None)])
            descriptors = min(descriptors, len(list(Path("/proc/self/fd").iterdir())))
        resident = int(Path("/proc/self/statm").read_text().split()[1])
        mebibytes = resident * os.sysconf("SC_PAGESIZE") / 2**20
        self.held.append((descriptors, mebibytes, threading.active_count()))
        print(  # noqa: T201
            f"{time.strftime('%H:%M:%S')} {self.asked} measurements, {descriptors} descriptors, "
            f"{mebibytes:.1f} MiB, {threading.active_count()} threads, {self.torn} torn lines; "
            + ", ".join(f"{count} {kind}" for kind, count in self.kinds.most_common()),
            flush=True,
        )

    def check_log(self):
        found = JsonlRecordStore(self.log)
        numbers = Counter(record.config["number"] for record in found.records())
        assert numbers == Counter(range(self.first, self.asked))
        assert found.bad_lines == self.torn

    # --- what happens beside the candidates

    def start_anew(self):
        """Another run goes on with the log, or with a new one."""
        if self.bench:
            self.bench.close()
        if self.asked - self.first >= LOG_MEASUREMENTS:
            self.check_log()
            self.log.unlink()
            self.first, self.torn = self.asked, 0
        limits = {"timeout_seconds": LIMIT_SECONDS}
        self.bench = Bench(self.host, builder={**limits, "n_parallel": 1}, runner=limits)
        self.store = JsonlRecordStore(self.log)
        self.measure([({}, None)])

    def tear_the_log(self):
        """As a writer does that is killed in the middle of a line."""
        with self.log.open("rb+") as file:
            line = file.readline()
            file.seek(0, os.SEEK_END)
            file.write(line[: self.rng.randrange(1, len(line) - 1)])
        self.torn += 1
        self.measure([({}, None)])

    def fill_the_disk(self):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        trial = Trial(self.bench.ask(number=-1), self.bench.measure())
        room = self.log.stat().st_size + self.rng.randrange(100)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
        try:
            with pytest.raises(UsageError, match="File too large"):
                self.store.append([Record.of(trial, self.bench.device, 1)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    @contextmanager
    def killing(self):
        """Somebody kills a worker, or what one has left, at any moment of what happens within."""
        done, wait_seconds = threading.Event(), self.rng.random()

        def kill():
            done.wait(wait_seconds)
            if found := sorted(self.residents()):
                with suppress(ProcessLookupError):
                    os.kill(self.rng.choice(found), signal.SIGKILL)

        thread = threading.Thread(target=kill)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


@pytest.fixture
def soak(fault_host, tmp_path, monkeypatch, workers_folder, living_in):
    told = tmp_path / "told"
    told.touch()
    monkeypatch.setenv("FAULT_CHILD", str(told))
    soak = Soak(fault_host, tmp_path / "records.jsonl", lambda: living_in(workers_folder))
    yield soak
    soak.bench.close()


def soaked(soak, seconds, workers_folder, living_in):
    soak.run(seconds)
    soak.bench.close()
    assert soak.unexpected == []
    assert living_in(workers_folder) == set()
    assert not list(workers_folder.glob("*/pool-*"))
    first = soak.held[0]
    for descriptors, mebibytes, threads in soak.held:
        assert abs(descriptors - first[0]) <= 5
        assert abs(mebibytes - first[1]) <= 50
        assert abs(threads - first[2]) <= 5
    soak.check_log()
    assert soak.kinds["timed"] > soak.asked / 4


def test_d37_seconds_of_faults_lose_no_record_and_leak_nothing(soak, workers_folder, living_in):
    soaked(soak, 4, workers_folder, living_in)


@pytest.mark.full
def test_d37_a_long_soak_of_faults_loses_no_record_and_leaks_nothing(
    soak, workers_folder, living_in, request
):
    soaked(soak, request.config.getoption("--soak-seconds"), workers_folder, living_in)
