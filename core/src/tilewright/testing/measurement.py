"""What every builder and runner keeps to. Subclass and give a target, a task and the names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tilewright.config import ConfigEntity
from tilewright.host import PluginHost
from tilewright.measure import FailureKind, MeasureInput
from tilewright.roles import Builder, BuildResult, MeasureContext, Runner
from tilewright.task_text import find_task


class _Measurement:
    """Two good inputs of one task, and one whose config no strategy can lower.

    builder_name, runner_name         components that work together
    builder_options, runner_options   what a pipeline file would say of them
    """

    target: str
    task: str
    builder_name: str
    runner_name: str
    builder_options: Mapping[str, Any] = {}
    runner_options: Mapping[str, Any] = {}

    @pytest.fixture
    def context(self) -> MeasureContext:
        """Override to load plugin files or to pick a device."""
        host = PluginHost.load()
        devices = host.backend(host.resolve_target(self.target).kind).probe()
        if not devices:
            pytest.skip(f"no device for {self.target} on this machine")
        return MeasureContext(host, devices[0])

    @pytest.fixture
    def good(self, context: MeasureContext) -> list[MeasureInput]:
        host = context.host
        task = find_task(self.task, host.resolve_target(self.target), host, None)
        space = host.space(task)
        fallback = host.fallback_config(task, space)
        other = next(config for config in space.points() if config != fallback)
        return [MeasureInput(task, config) for config in (fallback, other)]

    @pytest.fixture
    def broken(self, good: list[MeasureInput]) -> MeasureInput:
        strategy = good[0].config.strategy
        return MeasureInput(good[0].task, ConfigEntity(strategy, {"no_such_knob": 0}))

    @pytest.fixture
    def builder(self, context: MeasureContext) -> Iterator[Builder]:
        builder = context.host.make("builder", self.builder_name, self.builder_options, context)
        yield builder
        builder.close()

    @pytest.fixture
    def runner(self, context: MeasureContext) -> Iterator[Runner]:
        runner = context.host.make("runner", self.runner_name, self.runner_options, context)
        yield runner
        runner.close()


class BuilderContract(_Measurement):
    """One result an input, in order; a bad candidate costs itself only."""

    def test_results_come_in_order_and_a_bad_one_spoils_nothing(
        self, builder: Builder, good: list[MeasureInput], broken: MeasureInput
    ) -> None:
        results = builder.build([good[0], broken, good[1]])
        assert [result.failure is None for result in results] == [True, False, True]
        assert [result.artifact is None for result in results] == [False, True, False]
        failure = results[1].failure
        assert failure is not None
        assert failure.kind in (FailureKind.INVALID_CONFIG, FailureKind.BUILD_ERROR)
        assert failure.text

    def test_nothing_asked_is_nothing_built(self, builder: Builder) -> None:
        assert list(builder.build([])) == []

    def test_closing_twice_is_no_trouble(self, builder: Builder) -> None:
        builder.close()
        builder.close()


class RunnerContract(_Measurement):
    """One future an input, in order; times are seconds, failures are values."""

    def test_good_builds_have_times_and_failed_ones_keep_their_failure(
        self,
        builder: Builder,
        runner: Runner,
        good: list[MeasureInput],
        broken: MeasureInput,
    ) -> None:
        inputs = [broken, *good]
        builds = builder.build(inputs)
        results = [f.result(timeout=120) for f in runner.run(inputs, builds)]
        assert results[0].failure == builds[0].failure
        for result in results[1:]:
            assert result.failure is None, result.failure
            assert len(result.costs) >= 3
            assert all(0 < seconds < 60 for seconds in result.costs)

    def test_what_was_not_built_is_not_run(
        self, runner: Runner, good: list[MeasureInput], builder: Builder, broken: MeasureInput
    ) -> None:
        failed: BuildResult = builder.build([broken])[0]
        results = [f.result(timeout=120) for f in runner.run([good[0]], [failed])]
        assert [result.failure for result in results] == [failed.failure]

    def test_closing_twice_is_no_trouble(self, runner: Runner) -> None:
        runner.close()
        runner.close()
