"""D-12, D-13, D-16: memory, processes and output of a candidate are bounded, and gone with it."""

from __future__ import annotations

import itertools
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tilewright.vocabulary.measure import FailureKind
from tilewright_measure.worker import process
from tilewright_measure.worker.scratch import end_residents

MEBIBYTE = 1 << 20


def peak_kib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def own_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


# --- memory --------------------------------------------------------------------------------------


def test_d12_an_allocation_bomb_is_out_of_memory_and_leaves_the_parent_small(bench):
    bench.measure()
    before = peak_kib()
    assert bench.measure("eat_memory").failure.kind is FailureKind.OUT_OF_MEMORY
    assert peak_kib() - before < 50 << 10


@pytest.fixture
def killer(told):
    """A thread that kills the process which tells its number, as `kill -9` does."""

    def kill():
        while not (told.exists() and told.read_text().endswith("\n")):
            time.sleep(0.005)
        os.kill(int(told.read_text()), signal.SIGKILL)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    return thread


@pytest.mark.usefixtures("killer")
def test_d12_a_worker_killed_from_outside_is_nobodys_fault(make_bench):
    bench = make_bench()
    failure = bench.measure("await_a_killer").failure
    assert (failure.kind, failure.signal) == (FailureKind.INTERNAL, "SIGKILL")
    assert failure.killed
    assert failure.kind.retried
    assert "killed from outside" in failure.text
    assert bench.measure("await_a_killer").costs


@pytest.mark.usefixtures("killer")
def test_d12_what_the_kernel_kills_for_want_of_memory_is_out_of_memory(make_bench, monkeypatch):
    kills = itertools.count()
    monkeypatch.setattr(process, "killed_for_memory", lambda: next(kills))
    assert make_bench().measure("await_a_killer").failure.kind is FailureKind.OUT_OF_MEMORY


def test_d12_operands_that_do_not_fit_are_no_fault_of_the_candidate(make_bench):
    failure = make_bench(runner={"memory_gib": 1}).measure(shape=(1 << 28,)).failure
    assert failure.kind is FailureKind.INTERNAL
    assert "memory_gib: 2" in failure.text


def test_d12_a_leak_ends_its_worker_and_nobody_is_blamed(bench):
    """Each takes a gibibyte of eight: the ninth dies of what the others left, and has its turn."""
    asked = [bench.ask("leak", time=1e-3 + number) for number in range(12)]
    assert all(result.costs for result in bench.measure_all(asked))


@pytest.mark.parametrize("count", [1000, pytest.param(10_000, marks=pytest.mark.full)])
def test_d12_the_parent_does_not_grow_with_the_number_of_measurements(bench, count):
    def measure(number):
        asked = [bench.ask(time=1e-3 + i * 1e-9) for i in range(number)]
        assert all(result.costs for result in bench.measure_all(asked))

    measure(100)
    before, open_before = own_bytes(), descriptors()
    for _ in range(count // 100):
        measure(100)
    grown = (own_bytes() - before) / MEBIBYTE
    print(f"{count} measurements: {grown:.1f} MiB more")  # noqa: T201
    assert grown < max(10, 50 * count / 10_000)
    assert abs(descriptors() - open_before) <= 5


def test_only_a_device_that_shares_the_address_space_lifts_its_bound(make_bench):
    assert make_bench().measure("reserve_a_terabyte").failure is not None
    shared = make_bench(device={"unified_addressing": True})
    assert shared.measure("reserve_a_terabyte").costs


# --- processes -----------------------------------------------------------------------------------


@pytest.fixture
def told(tmp_path, monkeypatch):
    """The file in which what a candidate starts leaves its number."""
    monkeypatch.setenv("FAULT_CHILD", str(tmp_path / "told"))
    return tmp_path / "told"


def assert_gone(numbers, seconds=120):
    """Nothing but zombies, which await their parent, is left of these processes."""
    deadline = time.monotonic() + seconds
    while alive := [number for number in numbers if state(number) not in ("", "Z")]:
        assert time.monotonic() < deadline, alive
        time.sleep(0.01)


def state(number):
    try:
        return Path("/proc", str(number), "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


@pytest.mark.parametrize("launch", ["spawn_child", "spawn_daemon_and_die"])
def test_d13_what_a_crashed_candidate_started_ends_with_its_worker(make_bench, told, launch):
    bench = make_bench()
    assert bench.measure(launch).failure.signal == "SIGSEGV"
    assert_gone(told.read_text().split())


def test_d13_a_daemon_of_a_candidate_that_succeeds_ends_with_the_runner(make_bench, told):
    bench = make_bench()
    assert bench.measure("spawn_daemon_and_go_on").costs
    daemons = told.read_text().split()  # one a launch
    assert daemons
    assert all(state(daemon) not in ("", "Z") for daemon in daemons)
    bench.close()
    assert_gone(daemons)


def test_d13_a_fork_bomb_in_a_build_step_leaves_nobody(make_bench, told, workers_folder, living_in):
    """128 processes, most of which have left the session of their worker."""
    for seconds in (5, 20, 60):  # until all have told their number, which a busy machine delays
        told.write_text("")
        bench = make_bench(builder={"timeout_seconds": seconds})
        (result,) = bench.builder.build([bench.ask(lower="fork_bomb")])
        assert result.failure.kind is FailureKind.BUILD_TIMEOUT
        numbers = told.read_text().split()
        assert_gone(numbers)
        bench.close()
        assert living_in(workers_folder) == set()
        if len(numbers) > 100:
            break
    assert len(numbers) > 100


def test_d13_a_daemon_in_a_build_step_ends_with_the_builder(make_bench, told):
    bench = make_bench()
    (result,) = bench.builder.build([bench.ask(lower="spawn_daemon")])
    assert result.artifact is not None
    bench.close()
    assert_gone(told.read_text().split())


def test_d13_a_worker_may_have_512_threads_more_than_there_are(make_bench, told):
    assert make_bench().measure("tell_its_number").costs
    limits = Path("/proc", told.read_text().split()[0], "limits").read_text()
    (allowed,) = (
        int(line.split()[2]) for line in limits.splitlines() if line.startswith("Max processes")
    )
    assert 512 < allowed < 512 + 100_000


@pytest.mark.parametrize("rounds_seconds", [1, 0])  # 0: less than it takes to find them
def test_d13_only_who_lives_in_the_folder_is_ended(tmp_path, monkeypatch, rounds_seconds):
    monkeypatch.setattr("tilewright_measure.worker.scratch._ROUNDS_SECONDS", rounds_seconds)
    environments = [
        {"TMPDIR": f"{tmp_path}/pool/worker"},
        {"TMPDIR": f"{tmp_path}/pool-of-another"},
    ]
    mine, other = (
        subprocess.Popen(
            [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"],
            env=e,
            stdout=subprocess.PIPE,
        )
        for e in environments
    )
    try:
        for process in (mine, other):
            process.stdout.readline()
        end_residents(tmp_path / "pool")
        assert mine.wait(60) == -9
        assert other.poll() is None
    finally:
        for process in (mine, other):
            process.kill()
            process.communicate()


def test_no_process_and_no_file_is_left_after_close(make_bench, workers_folder, living_in):
    bench = make_bench(runner={"timeout_seconds": 1})
    bench.measure("hang_with_gil")
    bench.measure("segfault")
    assert living_in(workers_folder)
    bench.close()
    assert living_in(workers_folder) == set()
    assert not list(workers_folder.glob("*/pool-*"))


# --- output --------------------------------------------------------------------------------------


@pytest.mark.parametrize("launch", ["print_gigabyte", "complain_gigabyte"])
def test_d16_a_flood_of_output_neither_fills_the_parent_nor_blocks_the_kernel(make_bench, launch):
    bench = make_bench(runner={"timeout_seconds": 120})
    bench.measure()
    before = peak_kib()
    assert bench.measure(launch).costs
    assert len(bench.runner._worker._output) <= 64 << 10
    assert peak_kib() - before < 50 << 10


def test_d16_the_end_of_long_output_is_kept_within_4_kib(bench):
    text = bench.measure("print_then_die").failure.text
    assert "the last words" in text
    assert len(text) <= 4096


def test_d16_printed_frames_do_not_reach_the_protocol(bench):
    assert bench.measure("print_frames").costs == (1e-3,) * 5
