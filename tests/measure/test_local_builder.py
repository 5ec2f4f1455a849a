from __future__ import annotations

import json
import re
import signal
import threading
from dataclasses import replace

import pytest

from tilewright.roles import Artifact
from tilewright.vocabulary.measure import Conditions, FailureKind
from tilewright_measure.local.kept_artifacts import KeptArtifacts
from tilewright_measure.worker.scratch import Scratch


def test_results_come_in_order_and_a_failure_costs_its_own_candidate(make_bench):
    bench = make_bench(builder={"timeout_seconds": 6})
    names = ["", "refuse", "segfault", "", "fail", "eat_memory", "leave", "hang_with_gil", ""]
    asked = [bench.ask(lower=name, shape=(size,)) for size, name in enumerate(names, 1)]
    results = bench.builder.build(asked)
    kinds = [result.failure and result.failure.kind for result in results]
    assert kinds == [
        None,
        FailureKind.INVALID_CONFIG,
        FailureKind.CRASH,
        None,
        FailureKind.BUILD_ERROR,
        FailureKind.OUT_OF_MEMORY,
        FailureKind.CRASH,
        FailureKind.BUILD_TIMEOUT,
        None,
    ]
    assert results[2].failure.signal == "SIGSEGV"
    # Who wrote the strategy finds the line, be it a refusal or a mistake.
    assert re.fullmatch(r"30 lanes .* into 16 \(fault_target.py:\d+\)", results[1].failure.text)


def test_an_artefact_crosses_byte_for_byte(bench):
    asked = bench.ask(time=0.25)
    (result,) = bench.builder.build([asked])
    assert json.loads(result.artifact.data) == dict(asked.config.values)
    assert (result.artifact.target, result.artifact.format) == ("fault", "json")
    assert set(result.timings) == {"lower", "compile"}


def test_an_unknown_strategy_is_an_invalid_config(bench):
    asked = bench.ask()
    object.__setattr__(asked.config, "strategy", "nobody")
    (result,) = bench.builder.build([asked])
    assert result.failure.kind is FailureKind.INVALID_CONFIG
    assert "no strategy named 'nobody'" in result.failure.text


def test_failed_builds_pass_through_the_runner_untouched(bench):
    (result,) = bench.measure_all([bench.ask(lower="refuse")])
    assert result.failure.kind is FailureKind.INVALID_CONFIG
    assert set(result.timings) == {"lower"}


def test_two_workers_build_at_the_same_time(make_bench, tmp_path, monkeypatch):
    monkeypatch.setenv("FAULT_CHILD", str(tmp_path / "numbers"))
    bench = make_bench(builder={"timeout_seconds": 60})
    results = bench.builder.build([bench.ask(lower="meet_another")] * 2)
    assert all(result.artifact for result in results)
    assert len(set((tmp_path / "numbers").read_text().split())) == 2


def test_an_interrupted_build_stops_at_once_and_the_builder_goes_on(make_bench, soon):
    bench = make_bench(builder={"timeout_seconds": 60})
    bench.builder.build([bench.ask()])
    main = threading.main_thread().ident
    with soon(1), pytest.raises(KeyboardInterrupt):
        threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT)).start()
        bench.builder.build([bench.ask(lower="hang_deaf")] * 4)
    (result,) = bench.builder.build([bench.ask()])
    assert result.artifact is not None


def test_a_worker_that_cannot_start_costs_its_candidate(make_bench, monkeypatch):
    folder = Scratch.folder

    def full(scratch, prefix):
        if prefix == "worker-":
            raise OSError(28, "No space left on device")
        return folder(scratch, prefix)

    monkeypatch.setattr(Scratch, "folder", full)
    bench = make_bench()
    (result,) = bench.builder.build([bench.ask()])
    assert result.failure.kind is FailureKind.INTERNAL
    assert "no worker process can start: [Errno 28] No space left" in result.failure.text


def test_a_worker_that_ran_out_of_memory_builds_nothing_more(make_bench):
    bench = make_bench(builder={"n_parallel": 1})
    bench.builder.build([bench.ask()])
    for size in range(1, 4):
        (result,) = bench.builder.build([bench.ask(lower="eat_memory", shape=(size,))])
        assert result.failure.kind is FailureKind.OUT_OF_MEMORY
    assert not bench.builder._pool._alive


def test_what_was_built_is_not_built_again(bench):
    asked, other = bench.ask(), bench.ask(shape=(41,))
    (first,) = bench.builder.build([asked])
    again, new = bench.builder.build([asked, other])
    assert again.artifact == first.artifact
    assert not again.timings
    assert set(new.timings) == {"lower", "compile"}


def test_what_failed_is_built_again(bench):
    refused = bench.ask(lower="refuse")
    builds = bench.builder.build([refused]), bench.builder.build([refused])
    assert all(built.failure and built.timings for (built,) in builds)


def test_artefacts_are_kept_by_candidate_as_far_as_they_fit(bench):
    kept = KeptArtifacts(10)
    asked = [bench.ask(shape=(size,)) for size in (3, 5, 7)]
    for each, size in zip(asked, (4, 5, 3), strict=True):
        kept.add(each, Artifact("fault", "json", bytes(size)))
        assert kept.find(asked[0])
    assert [kept.find(each) is not None for each in asked] == [True, False, True]
    assert kept.find(replace(asked[2], conditions=Conditions(turns=3))).data == bytes(3)
    kept.add(asked[2], Artifact("fault", "json", bytes(11)))
    assert not any(map(kept.find, asked))
