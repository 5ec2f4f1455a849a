"""Faults D-10 to D-12 and D-16: whatever a kernel does costs one candidate and is told by its name."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import pytest

from tilewright.measure import FailureKind

LIMIT_SECONDS = 0.5  # of the bench, plus the sampling time of five samples
SLACK = 3  # how much slower than the goals a loaded machine may be


def _children() -> list[str]:
    """Command lines of this process's children, by /proc."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == os.getpid():
            found.append(stat.parent.name)
    return found


@pytest.mark.parametrize("launch", ["hang_with_gil", "hang_deaf", "stop_itself"])
def test_a_hang_ends_at_its_limit_and_the_slot_goes_on(bench, launch):
    bench.measure()
    asked = [bench.ask(launch), bench.ask()]
    builds = bench.builder.build(asked)
    start = time.monotonic()
    hung, good = bench.runner.run(asked, builds)
    failure = hung.result(10).failure
    until_told = time.monotonic() - start
    assert failure.kind is FailureKind.RUN_TIMEOUT
    assert good.result(10).costs
    assert until_told < LIMIT_SECONDS + 0.5 * SLACK
    assert time.monotonic() - start - until_told < 1.0 * SLACK


@pytest.mark.parametrize(
    ("launch", "signal_name"),
    [
        ("segfault", "SIGSEGV"),
        ("abort", "SIGABRT"),
        ("illegal", "SIGILL"),
        ("divide", "SIGFPE"),
        ("overflow_stack", "SIGSEGV"),
        ("leave", ""),
    ],
)
def test_a_crash_keeps_the_name_of_its_signal(bench, launch, signal_name):
    failure = bench.measure(launch).failure
    assert (failure.kind, failure.signal) == (FailureKind.CRASH, signal_name)
    assert bench.measure().costs


def test_a_crash_keeps_the_last_output(bench):
    assert "about to abort" in bench.measure("abort").failure.text


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.full)])
def test_crashes_in_a_row_cost_little_each(bench, count):
    asked = [bench.ask("segfault", time=1e-3 + i) for i in range(count)]
    builds = bench.builder.build(asked)
    start = time.monotonic()
    results = [future.result(60) for future in bench.runner.run(asked, builds)]
    assert all(result.failure.signal == "SIGSEGV" for result in results)
    assert (time.monotonic() - start) / count < 0.2 * SLACK


def test_an_allocation_bomb_is_out_of_memory_and_leaves_the_parent_small(bench):
    bench.measure()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert bench.measure("eat_memory").failure.kind is FailureKind.OUT_OF_MEMORY
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 << 10


def test_a_flood_of_output_neither_fills_the_parent_nor_blocks_the_kernel(make_bench):
    bench = make_bench(runner={"timeout_seconds": 20})
    bench.measure()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert bench.measure("print_gigabyte").costs
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 << 10


def test_the_end_of_long_output_is_kept_within_4_kib(bench):
    text = bench.measure("print_then_die").failure.text
    assert "the last words" in text
    assert len(text) <= 4096


def test_printed_frames_do_not_reach_the_protocol(bench):
    assert bench.measure("print_frames").costs == (1e-3,) * 5


def test_children_of_a_candidate_end_with_its_worker(make_bench, tmp_path, monkeypatch):
    monkeypatch.setenv("FAULT_CHILD", str(tmp_path / "child"))
    bench = make_bench()
    assert bench.measure("spawn_child").failure.signal == "SIGSEGV"
    stat = Path("/proc", (tmp_path / "child").read_text(), "stat")
    deadline = time.monotonic() + 1.0 * SLACK
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_no_process_and_no_file_is_left_after_close(make_bench, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    known = _children()
    bench = make_bench()
    bench.measure("hang_with_gil")
    bench.measure("segfault")
    assert len(_children()) > len(known)
    bench.close()
    assert _children() == known
    assert not list(tmp_path.glob("*/pool-*"))


def test_close_cancels_what_is_not_measured(make_bench):
    bench = make_bench(runner={"timeout_seconds": 60})
    asked = [bench.ask(), bench.ask("hang_deaf"), bench.ask()]
    done, running, pending = bench.runner.run(asked, bench.builder.build(asked))
    assert done.result(10).costs
    start = time.monotonic()
    bench.close()
    kinds = [future.result(0).failure.kind for future in (running, pending)]
    assert kinds == [FailureKind.CANCELLED] * 2
    assert time.monotonic() - start < 0.3 * SLACK


@pytest.mark.parametrize(
    ("launch", "kind"),
    [
        ("lose_the_device", FailureKind.CRASH),
        ("lose_the_device_innocently", FailureKind.DEVICE_LOST),
    ],
)
def test_a_lost_device_costs_one_candidate_and_its_worker(
    make_bench, tmp_path, monkeypatch, launch, kind
):
    monkeypatch.setenv("FAULT_CHILD", str(tmp_path / "numbers"))
    bench = make_bench()
    assert bench.measure("tell_its_number").costs
    failure = bench.measure(launch).failure
    assert failure.kind is kind
    assert failure.text.endswith(")")
    assert bench.measure("tell_its_number").costs
    assert len(set((tmp_path / "numbers").read_text().split())) == 2


def test_only_a_device_that_shares_the_address_space_lifts_its_bound(make_bench):
    assert make_bench().measure("reserve_a_terabyte").failure is not None
    shared = make_bench(device={"unified_addressing": True})
    assert shared.measure("reserve_a_terabyte").costs
