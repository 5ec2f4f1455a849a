"""Whatever ends, hangs or comes late: everything is measured, once, and nothing is left running."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from fleet_bench import FleetBench, has_devices, until

from tilewright.errors import UsageError
from tilewright.vocabulary.measure import FailureKind
from tilewright_dask.driver.batch import Batch

SLOW = "hang_with_gil"
"""A candidate that is given up after the timeout."""


def results_of(batches):
    return [future.result(120) for batch in batches for future in batch]


def in_use(fleet, living_in, worker):
    """Once a worker measures: its processes."""
    return until(lambda: living_in(fleet.temporary(worker)), "process that measures")


@pytest.fixture
def hung(fleet, drive, living_in):
    """The only device, which hangs in a batch, that batch, and its run, which waits for no other."""
    fleet.scheduler()
    worker = fleet.worker()
    bench = drive(timeout_seconds=60, wait_seconds=10)
    batch = bench.start(SLOW)
    in_use(fleet, living_in, worker)
    return worker, batch, bench


def is_free(fleet, living_in, worker):
    until(lambda: not living_in(fleet.temporary(worker)), "end of all that measures")


def test_d32_what_a_killed_worker_was_measuring_is_measured_elsewhere(fleet, drive, living_in):
    fleet.scheduler()
    told = fleet.folder / "told"
    killed = fleet.worker(core=0, environment={"FAULT_CHILD": str(told)})
    other = fleet.worker(core=1, environment={"FAULT_CHILD": os.devnull})  # there, nothing hangs
    bench = drive()
    has_devices(bench, 2)
    other.process.send_signal(signal.SIGSTOP)  # until two batches are with each
    batches = [bench.start("right", "hang_once", time=(1 + number) / 1e3) for number in range(4)]
    other.process.send_signal(signal.SIGCONT)
    until(told.exists, "candidate that hangs")
    killed.end(signal.SIGKILL)
    results = results_of(batches)
    assert [result.seconds for result in results[::2]] == [1e-3, 2e-3, 3e-3, 4e-3]
    assert {result.failure.kind for result in results[1::2]} == {FailureKind.WRONG_ANSWER}
    assert [result.device for result in results].count(other.name()) >= 6
    is_free(fleet, living_in, killed)
    has_devices(bench, 1)
    assert bench.runner.device_faults() == {killed.name(): {"device_lost": 2}}


def test_a_batch_whose_every_device_is_lost_says_so(hung):
    killed, batch, bench = hung
    killed.end(signal.SIGKILL)
    (result,) = results_of([batch])
    assert result.failure.kind is FailureKind.DEVICE_LOST
    assert bench.runner.batches_at_once == 0


def test_a_stopped_worker_is_lost_until_it_goes_on(fleet, drive, living_in, soon_silent):
    fleet.scheduler()
    stopped, _ = fleet.worker(core=0), fleet.worker(core=1)
    bench = drive(timeout_seconds=2)
    has_devices(bench, 2)
    batches = [bench.start("right", SLOW) for _ in range(4)]
    in_use(fleet, living_in, stopped)
    stopped.process.send_signal(signal.SIGSTOP)
    soon_silent(stopped)
    results = results_of(batches)
    assert [result.seconds for result in results[::2]] == [1e-3] * 4
    stopped.process.send_signal(signal.SIGCONT)
    has_devices(bench, 2)


def test_a_scheduler_that_is_killed_may_come_back(fleet, drive, living_in):
    killed = fleet.scheduler()
    worker = fleet.worker()
    bench = drive(timeout_seconds=2)
    batch = bench.start("right", SLOW)
    in_use(fleet, living_in, worker)
    killed.end(signal.SIGKILL)
    fleet.scheduler(port=fleet.address.rpartition(":")[2])
    first, second = results_of([batch])
    assert first.seconds == 1e-3
    assert second.failure.kind is FailureKind.RUN_TIMEOUT


def test_a_worker_that_comes_late_is_waited_for_and_joins(fleet, drive):
    fleet.scheduler()
    made = []
    waiting = threading.Thread(target=lambda: made.append(drive()))
    waiting.start()
    fleet.worker(core=0)
    waiting.join(120)
    (bench,) = made
    assert bench.measure().seconds == 1e-3
    fleet.worker(core=1)
    has_devices(bench, 2)


def test_a_run_does_not_wait_for_ever_for_its_first_device(fleet, drive):
    fleet.scheduler()
    with pytest.raises(UsageError, match=r"has no device of the run's, for 0.1 s"):
        drive(wait_seconds=0.1)


def test_a_run_that_is_closed_leaves_nothing_running(fleet, drive, living_in):
    fleet.scheduler()
    worker = fleet.worker()
    bench = drive(timeout_seconds=60)
    batches = [bench.start("right", SLOW), bench.start(SLOW)]
    in_use(fleet, living_in, worker)
    bench.runner.close()
    results = results_of(batches)
    assert {result.failure.kind for result in results} == {FailureKind.CANCELLED}
    is_free(fleet, living_in, worker)
    assert drive().measure().seconds == 1e-3


def test_a_run_that_is_closed_leaves_others_as_they_are(fleet, drive, living_in):
    fleet.scheduler()
    worker = fleet.worker()
    one, other = drive(timeout_seconds=60), drive()
    held = one.start(SLOW)
    in_use(fleet, living_in, worker)
    waiting = [other.start("right", time=(1 + number) / 1e3) for number in range(3)]
    one.runner.close()
    assert results_of([held])[0].failure.kind is FailureKind.CANCELLED
    assert [result.seconds for result in results_of(waiting)] == [1e-3, 2e-3, 3e-3]


def test_what_a_worker_fails_at_is_tried_on_another(fleet, drive, monkeypatch):
    """By a bug, or as its disk is full: the first request makes no sense to whoever gets it."""
    fleet.scheduler()
    for core in range(2):
        fleet.worker(core=core)
    bench = drive()
    has_devices(bench, 2)
    made, request = [], Batch.request

    def broken_once(batch, *arguments):
        made.append(request(batch, *arguments))
        return {**made[-1], "inputs": [{}]} if len(made) == 1 else made[-1]

    monkeypatch.setattr(Batch, "request", broken_once)
    result = bench.measure()
    assert result.seconds == 1e-3
    ((failed, faults),) = bench.runner.device_faults().items()
    assert faults == {"internal": 1}
    assert result.device != failed


def test_what_every_worker_fails_at_is_a_failure(fleet, drive, monkeypatch):
    fleet.scheduler()
    fleet.worker()
    bench = drive()
    request = Batch.request
    monkeypatch.setattr(Batch, "request", lambda *given: {**request(*given), "inputs": [{}]})
    failure = bench.measure().failure
    assert failure.kind is FailureKind.INTERNAL
    assert "ValueError" in failure.text
    monkeypatch.setattr(Batch, "request", request)
    assert bench.measure().seconds == 1e-3


def test_a_run_that_is_killed_leaves_nothing_running(fleet, drive, living_in):
    fleet.scheduler()
    worker = fleet.worker()
    script = (
        "import sys, time; from types import SimpleNamespace; from fleet_bench import FleetBench\n"
        "fleet = SimpleNamespace(address=sys.argv[1], tls=None)\n"
        f"FleetBench(fleet, timeout_seconds=100).start({SLOW!r}); time.sleep(600)"
    )
    folders = [Path(sys.modules[name].__file__).parent for name in ("fleet_bench", "fault_bench")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    with subprocess.Popen([sys.executable, "-c", script, fleet.address], env=environment) as run:
        in_use(fleet, living_in, worker)
        run.kill()
    is_free(fleet, living_in, worker)


def test_a_worker_that_is_ended_ends_what_it_runs(fleet, hung, living_in):
    worker, batch, _ = hung
    worker.end(signal.SIGTERM)
    assert not living_in(fleet.temporary(worker))
    assert results_of([batch])[0].failure.kind is FailureKind.DEVICE_LOST


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(1, 50))]
)
def test_random_kills_lose_nothing_and_count_nothing_twice(fleet, seed):
    """Workers are killed and others come, at random; a batch may be lost twice, and says so."""
    chance = random.Random(seed)
    fleet.scheduler()
    workers = [fleet.worker(core=core) for core in range(2)]
    bench = FleetBench(fleet, wait_seconds=60)
    batches = []
    for number in range(12):
        batches.append(bench.start("right", "right", time=(1 + number) / 1e3))
        time.sleep(chance.random() * 0.2)
        if number in (4, 8):
            workers.pop(chance.randrange(len(workers))).end(signal.SIGKILL)
            workers.append(fleet.worker(core=number))
    results = results_of(batches)
    bench.close()
    for number, pair in enumerate(zip(results[::2], results[1::2], strict=True)):
        kinds = {result.failure and result.failure.kind for result in pair}
        assert kinds <= {None, FailureKind.DEVICE_LOST}
        assert {result.seconds for result in pair} <= {None, (1 + number) / 1e3}
    assert sum(result.failure is None for result in results) >= 16
