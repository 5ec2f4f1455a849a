"""Two runs on one device take turns: neither's times tell of the other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from tilewright.roles import BuildResult
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import FailureKind
from tilewright_measure.local.device_lease import DeviceLease
from tilewright_measure.worker.scratch import lock_file

HOLDER = """
import sys, time
from tilewright.vocabulary.device import Device
from tilewright_measure.local.device_lease import DeviceLease
with DeviceLease(Device("fake")).held():
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _own_folder(workers_folder, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(workers_folder))


@contextmanager
def holding():
    """Another process that has the device, which ends with the block."""
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout.readline() == "held\n"
            yield holder
        finally:
            holder.kill()


def waits(call):
    """Whether something that ends when it is told to does not end before."""
    asked = []

    def stopped():
        asked.append(True)
        return len(asked) > 3

    call(stopped)
    return len(asked) > 3


def test_a_batch_waits_for_another_run_and_says_so(make_bench, caplog, monkeypatch):
    monkeypatch.setattr("tilewright_measure.local.device_lease._TELL_SECONDS", 0.0)
    bench = make_bench()
    asked = [bench.ask()]
    builds = bench.builder.build(asked)
    with DeviceLease(bench.device).held():
        (future,) = bench.runner.run(asked, builds)
        deadline = time.monotonic() + 120
        said = f"waiting for another run on fake, process {os.getpid()}\n"
        while said not in caplog.text and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not future.done()
    assert future.result(120).costs
    assert caplog.text.count("waiting") == 1


def test_a_runner_that_waits_can_be_closed(make_bench):
    bench = make_bench()
    asked = [bench.ask()]
    builds = bench.builder.build(asked)
    with DeviceLease(bench.device).held():
        (future,) = bench.runner.run(asked, builds)
        bench.runner.close()
        assert future.result(120).failure.kind is FailureKind.CANCELLED


def test_nothing_is_built_while_another_run_measures(make_bench, monkeypatch):
    bench = make_bench()
    held = []

    def take(stopped):
        with DeviceLease(bench.device).held(stopped):
            pass

    def build(_):
        held.append(waits(take))
        return BuildResult(None)

    monkeypatch.setattr(bench.builder, "_build", build)
    bench.builder.build([bench.ask()])
    assert held == [True]


def test_a_run_that_is_killed_gives_the_device_back():
    with holding() as holder:

        def take(stopped):
            with DeviceLease(Device("fake")).held(stopped):
                pass

        assert waits(take)
        holder.kill()
    with DeviceLease(Device("fake")).held():
        assert waits(take)


def test_a_run_that_is_suspended_keeps_the_device_and_is_named(caplog, monkeypatch):
    monkeypatch.setattr("tilewright_measure.local.device_lease._TELL_SECONDS", 0.0)
    with holding() as holder:
        holder.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, holder.pid, os.WSTOPPED)
        said = f"process {holder.pid}, which is suspended: fg or kill -CONT {holder.pid}\n"
        deadline = time.monotonic() + 120
        with DeviceLease(Device("fake")).held(
            stopped=lambda: said in caplog.text or time.monotonic() > deadline
        ):
            holder.kill()
    assert caplog.text.count(said) == 1


def test_who_waits_is_next_even_where_the_holder_asks_again_at_once(workers_folder):
    lease, got = DeviceLease(Device("fake")), threading.Event()

    def wait():
        with DeviceLease(Device("fake")).held():
            got.set()

    other = threading.Thread(target=wait)
    with lease.held():
        (line,) = workers_folder.glob("*/next-*")
        other.start()
        while not taken(line):
            time.sleep(0.01)
    with lease.held():
        assert got.is_set()
    other.join()


def taken(path):
    try:
        os.close(lock_file(path, wait=False))
    except BlockingIOError:
        return True
    return False


def test_an_emulated_device_is_everybodys(workers_folder):
    device = Device("emulated", {"emulated": True})
    with DeviceLease(device).held(), DeviceLease(device).held():
        assert not list(workers_folder.glob("*/device-*"))


@pytest.fixture
def confined(monkeypatch):
    """confined(0, 1): from now on this process is confined to these cores, of a hundred."""
    monkeypatch.setattr("os.cpu_count", lambda: 100)

    def keep(*cores):
        monkeypatch.setattr("os.sched_getaffinity", lambda _: set(cores))

    return keep


def is_taken(device):
    """Whether who wants a device is kept waiting; whoever is not asks once for each lock."""
    asked = []

    def stopped():
        asked.append(True)
        return len(asked) > 20

    with DeviceLease(device).held(stopped):
        return len(asked) > 20


def test_processes_of_other_cores_measure_at_once(confined):
    device = Device("cpu", {"cores": 100})
    confined(0, 1)
    with DeviceLease(device).held():
        assert is_taken(device)
        confined(1, 2)
        assert is_taken(device)
        confined(2, 3)
        assert not is_taken(device)


def test_who_may_use_every_core_waits_for_all_and_they_for_it(confined):
    device = Device("cpu", {"cores": 100})
    confined(0)
    with DeviceLease(device).held():
        confined(*range(100))
        assert is_taken(device)
    with DeviceLease(device).held():
        confined(0)
        assert is_taken(device)


def test_a_device_that_is_no_processor_is_not_shared(confined):
    confined(0)
    with DeviceLease(Device("gpu0")).held():
        confined(1)
        assert is_taken(Device("gpu0"))
