"""The builder and runner suites over those that this repository ships, on every kind of target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tilewright.host.contexts import MeasureContext
from tilewright.roles import Runner
from tilewright.vocabulary.measure import MeasureInput, MeasureResult, Trial
from tilewright.vocabulary.record import Record
from tilewright_records.store.store import JsonlRecordStore
from tilewright_testing.builder import BuilderContract, IsolatedBuilderContract
from tilewright_testing.measurement import ImaginaryMeasurementContract
from tilewright_testing.runner import IsolatedRunnerContract, RunnerContract

X86 = ("native", "conv2d(1x16x9x9, 16x16x3x3, strides=1, padding=1)")
CUDA = ("cuda:arch=sm_90", "dense(5x64, 32x64)")


class TestLocalBuilderInIsolation(IsolatedBuilderContract):
    name = "local"
    options = {"timeout_seconds": 6}


class TestLocalBuilderOfX86(BuilderContract):
    name = "local"
    target, task = X86


class TestLocalBuilderOfCuda(BuilderContract):
    name = "local"
    target, task = CUDA


class TestReplayBuilder(BuilderContract, ImaginaryMeasurementContract):
    name = "replay"


class TestLocalRunnerInIsolation(IsolatedRunnerContract):
    name = builder_name = "local"
    options = {"timeout_seconds": 6}


class TestLocalRunnerOfX86(RunnerContract):
    name = builder_name = "local"
    target, task = X86


class TestLocalRunnerOfCuda(RunnerContract):
    name = builder_name = "local"
    target, task = CUDA


class TestReplayRunner(RunnerContract, ImaginaryMeasurementContract):
    name = builder_name = "replay"

    @pytest.fixture
    def component(
        self, context: MeasureContext, good: list[MeasureInput], tmp_path: Path
    ) -> Iterator[Runner]:
        """Plays the two good candidates."""
        path = tmp_path / "records.jsonl"
        trials = [Trial(asked, MeasureResult((1e-3,) * 3)) for asked in good]
        JsonlRecordStore(path).append(Record.of(trial, context.device, 1) for trial in trials)
        runner = context.host.make("runner", "replay", {"records": str(path)}, context)
        yield runner
        runner.close()
