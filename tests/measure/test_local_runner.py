"""The runner `local`: what it asks of its worker."""

from __future__ import annotations

import pytest

from tilewright.vocabulary.measure import FailureKind
from tilewright_measure.worker.process import WorkerProcess


def test_a_task_is_prepared_when_it_changes_and_in_every_new_worker(make_bench, monkeypatch):
    asked, call = [], WorkerProcess.call

    def told(self, request, timeout_seconds):
        asked.append(request["do"])
        return call(self, request, timeout_seconds)

    bench = make_bench()
    one, other, crash = bench.ask(), bench.ask(shape=(41,)), bench.ask("abort")
    builds = bench.builder.build([one, one, other, one, crash, one])
    monkeypatch.setattr(WorkerProcess, "call", told)
    futures = bench.runner.run([one, one, other, one, crash, one], builds)
    failures = [future.result(120).failure for future in futures]
    assert [failure and failure.kind for failure in failures] == [
        None, None, None, None, FailureKind.CRASH, None,
    ]  # fmt: skip
    assert asked == [
        *("prepare", "measure", "measure"),
        *("prepare", "measure"),
        *("prepare", "measure", "measure"),  # the last of them crashed,
        *("prepare", "measure"),  # and did again in a new worker
        *("prepare", "measure"),
    ]


@pytest.mark.parametrize(("attributes", "seconds"), [({}, 10), ({"emulated": True}, 100)])
def test_who_sets_no_limit_gets_more_time_on_an_emulated_device(
    make_bench, monkeypatch, attributes, seconds
):
    limits, call = {}, WorkerProcess.call

    def told(self, request, timeout_seconds):
        limits[request["do"]] = timeout_seconds
        return call(self, request, timeout_seconds)

    monkeypatch.setattr(WorkerProcess, "call", told)
    unset = {"timeout_seconds": None}
    assert make_bench(builder=unset, runner=unset, device=attributes).measure().costs
    assert limits["build"] == seconds
    assert limits["measure"] == pytest.approx(seconds, abs=1)  # and what sampling takes


def test_a_spare_starts_once_a_worker_was_lost(make_bench, workers_folder, living_in):
    bench = make_bench(builder={"n_parallel": 1})
    for launch, workers in (("right", 2), ("abort", 3)):  # one of them builds
        for each in (launch, "right", "right"):  # what starts after a batch is there after the next
            bench.measure(each)
        assert len(living_in(workers_folder)) == workers
