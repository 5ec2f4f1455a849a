"""D-10, D-11, D-34: a hang, a crash or a lost device costs one candidate and is told by its name."""

from __future__ import annotations

import pytest

from tilewright.vocabulary.measure import FailureKind


@pytest.mark.parametrize("launch", ["hang_with_gil", "hang_deaf", "stop_itself"])
def test_d10_a_hang_ends_at_its_limit_and_the_slot_goes_on(
    make_bench, workers_folder, living_in, soon, launch
):
    bench = make_bench(runner={"timeout_seconds": 5})
    bench.measure()
    asked = [bench.ask(launch), bench.ask()]
    builds = bench.builder.build(asked)
    with soon(5 + 0.5):  # the limit, and what ending it takes
        hung, good = bench.runner.run(asked, builds)
        failure = hung.result(60).failure
    assert failure.kind is FailureKind.RUN_TIMEOUT
    with soon(1.0):
        assert good.result(60).costs
    bench.close()
    assert living_in(workers_folder) == set()


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
def test_d11_a_crash_keeps_the_name_of_its_signal(bench, launch, signal_name):
    failure = bench.measure(launch).failure
    assert (failure.kind, failure.signal) == (FailureKind.CRASH, signal_name)
    assert bench.measure().costs


def test_d11_a_crash_keeps_the_last_output(bench):
    assert "about to abort" in bench.measure("abort").failure.text


def test_close_cancels_what_is_not_measured(make_bench, soon):
    bench = make_bench(runner={"timeout_seconds": 60})
    asked = [bench.ask(), bench.ask("hang_deaf"), bench.ask()]
    done, running, pending = bench.runner.run(asked, bench.builder.build(asked))
    assert done.result(60).costs
    with soon(0.3):
        bench.close()
    kinds = [future.result(0).failure.kind for future in (running, pending)]
    assert kinds == [FailureKind.CANCELLED] * 2


@pytest.mark.parametrize(
    ("launch", "kind"),
    [
        ("lose_the_device", FailureKind.CRASH),
        ("lose_the_device_innocently", FailureKind.DEVICE_LOST),
    ],
)
def test_d34_a_lost_device_costs_one_candidate_and_its_worker(
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
