from __future__ import annotations

import dataclasses
import gzip

import pytest

from tilewright import tune
from tilewright.errors import UsageError
from tilewright.host.contexts import MeasureContext
from tilewright.host.plugin_host import PluginHost
from tilewright.roles import BuildResult
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Conditions, Failure, FailureKind, MeasureResult, Trial
from tilewright.vocabulary.record import Record
from tilewright.vocabulary.revisions import Revisions
from tilewright_records.store.store import JsonlRecordStore


@pytest.fixture
def replay(fault_host, tmp_path):
    """A function from recorded (input, result) pairs to one that replays inputs."""

    def record(*pairs, **options):
        path = tmp_path / "records.jsonl"
        trials = [Trial(asked, result) for asked, result in pairs]
        JsonlRecordStore(path).append([Record.of(t, Device("elsewhere"), 1) for t in trials])
        context = MeasureContext(fault_host, Device("fake"))
        builder = fault_host.make("builder", "replay", {}, context)
        runner = fault_host.make("runner", "replay", {"records": str(path), **options}, context)

        def run(*asked):
            futures = runner.run(asked, builder.build(asked))
            return [future.result(0) for future in futures]

        return run

    return record


def _failed(kind):
    return MeasureResult(failure=Failure(kind, "so it was"))


def test_times_and_failures_are_played_as_recorded(replay, bench):
    good, bad = bench.ask(), bench.ask("fail")
    run = replay((good, MeasureResult((1e-3, 2e-3))), (bad, _failed(FailureKind.RUN_ERROR)))
    played_bad, played_good = run(bad, good)
    assert played_good.costs == (1e-3, 2e-3)
    assert played_bad.failure == Failure(FailureKind.RUN_ERROR, "so it was")


def test_the_last_measurement_of_a_config_counts(replay, bench):
    asked = bench.ask()
    run = replay((asked, MeasureResult((1e-3,))), (asked, MeasureResult((5e-3,))))
    assert run(asked)[0].costs == (5e-3,)


def test_a_recording_by_the_name_that_a_strategy_had_before_is_played(
    replay, bench, fault_host, monkeypatch
):
    asked = bench.ask()
    strategy, slash, variant = asked.config.strategy.partition("/")
    monkeypatch.setattr(
        type(fault_host), "revisions", Revisions({"new.name": 1}, {strategy: "new.name"})
    )
    run = replay((asked, MeasureResult((1e-3,))))
    config = dataclasses.replace(asked.config, strategy=f"new.name{slash}{variant}")
    assert run(dataclasses.replace(asked, config=config))[0].costs == (1e-3,)


def test_faults_of_the_machinery_are_not_played(replay, bench):
    asked = bench.ask()
    run = replay((asked, MeasureResult((1e-3,))), (asked, _failed(FailureKind.INTERNAL)))
    assert run(asked)[0].costs == (1e-3,)


def test_cold_measurements_do_not_answer_for_warm_ones(replay, bench):
    cold = bench.ask()
    warm = dataclasses.replace(cold, conditions=Conditions(constants="warm"))
    run = replay((cold, MeasureResult((1e-3,))))
    assert run(warm)[0].failure.kind is FailureKind.INVALID_CONFIG


@pytest.mark.parametrize("unknown", ["invalid_config", "run_error", "internal"])
def test_what_is_not_recorded_fails_as_the_option_says(replay, bench, unknown):
    run = replay((bench.ask(), MeasureResult((1e-3,))), unknown=unknown)
    assert run(bench.ask("abort"))[0].failure.kind == unknown


def test_a_compressed_file_is_played_as_the_plain_one(replay, fault_host, bench, tmp_path):
    asked = bench.ask()
    replay((asked, MeasureResult((1e-3,))))
    packed = tmp_path / "records.jsonl.gz"
    lines = (tmp_path / "records.jsonl").read_bytes()
    packed.write_bytes(gzip.compress(b"no record\n" + lines))
    context = MeasureContext(fault_host, Device("fake"))
    runner = fault_host.make("runner", "replay", {"records": str(packed)}, context)
    assert runner.run([asked], [BuildResult(None)])[0].result(0).costs == (1e-3,)


def test_a_missing_file_is_one_clear_line(fault_host, tmp_path):
    context = MeasureContext(fault_host, Device("fake"))
    with pytest.raises(UsageError, match=r"none: cannot read the file: .*No such file"):
        fault_host.make("runner", "replay", {"records": str(tmp_path / "none")}, context)


@pytest.fixture
def tuned(tmp_path, toy, plain_environment):
    """A function that tunes toyadd(8) into `own.jsonl`: by the recording `played.jsonl`, or not."""
    host = PluginHost.load([toy])

    def run(budget, *, replays=False, records="own.jsonl"):
        played = {"replay": {"records": str(tmp_path / "played.jsonl")}}
        return tune(
            "toyadd(8)",
            target="toynative",
            tuner="toy",
            scheduler="toy",
            builder="replay" if replays else "toy",
            runner=played if replays else "toy",
            budget=budget,
            records=tmp_path / records,
            host=host,
        )

    return run


def test_what_is_replayed_is_no_history_of_this_device(tuned, tmp_path):
    real = tuned(12, records="played.jsonl")
    again = tuned(20, replays=True)
    assert again.summary["failures"] > 0  # not recorded
    assert (again.seconds, again.summary["peak_share"]) == (real.seconds, None)
    assert tuned(20, replays=True).summary["skipped"]
    own = tuned(20)
    assert (own.summary["trials"], own.summary["failures"]) == (20, 0)
    assert len(JsonlRecordStore(tmp_path / "own.jsonl").devices()) == 2


def test_a_recording_that_has_grown_is_replayed_anew(tuned):
    tuned(12, records="played.jsonl")
    before = tuned(20, replays=True)
    tuned(40, records="played.jsonl")
    after = tuned(20, replays=True)
    assert before.summary["failures"] > 0
    assert (after.summary["trials"], after.summary["failures"]) == (20, 0)


def test_a_missing_recording_is_one_clear_line_before_anything_is_replayed(tuned, tmp_path):
    with pytest.raises(UsageError, match=r"played.jsonl: no such recording"):
        tuned(12, replays=True)
    assert not (tmp_path / "own.jsonl").exists()
