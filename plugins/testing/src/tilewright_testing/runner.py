"""What every runner keeps to. Subclass, give its `name`, and a target and a task for the first.

>>> class TestMine(RunnerContract):
...     name, builder_name, target, task = "mine", "local", "TARGET", "OPERATOR(...)"
>>> class TestMineInIsolation(IsolatedRunnerContract):
...     name, builder_name, options = "mine", "local", {"timeout_seconds": 1}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tilewright.host.contexts import MeasureContext
from tilewright.host.plugin_host import PluginHost
from tilewright.roles import Builder, BuildResult, Runner
from tilewright.vocabulary.measure import (
    Conditions,
    Failure,
    FailureKind,
    MeasureInput,
    MeasureResult,
)
from tilewright_testing.measurement import ImaginaryMeasurementContract, MeasurementContract


class _Running(MeasurementContract):
    """A runner, and the builder that works for it.

    builder_name, builder_options   the builder, as a pipeline file would say it
    patience_seconds                longest time that any result may take
    """

    role = "runner"
    builder_name: str
    builder_options: Mapping[str, Any] = {}
    patience_seconds = 120.0

    @pytest.fixture
    def builder(self, context: MeasureContext) -> Iterator[Builder]:
        builder = context.host.make("builder", self.builder_name, self.builder_options, context)
        yield builder
        builder.close()

    def results(
        self, runner: Runner, builder: Builder, inputs: list[MeasureInput]
    ) -> list[MeasureResult]:
        """Built, run and waited for."""
        futures = runner.run(inputs, builder.build(inputs))
        return [future.result(self.patience_seconds) for future in futures]


class RunnerContract(_Running):
    """Every runner: one future an input, in order; times are seconds, failures are values."""

    def test_good_builds_have_times_as_often_as_they_are_asked_for(
        self, component: Runner, builder: Builder, good: list[MeasureInput]
    ) -> None:
        asked = [*good, good[0]]
        results = self.results(component, builder, asked)
        assert len(results) == len(asked)
        for result in results:
            assert result.failure is None, result.failure
            assert result.costs
            assert all(0 < seconds < 60 for seconds in result.costs)
            assert all(0 <= seconds < 600 for seconds in result.timings.values())
        # the first has nobody to lose against
        assert len(results[0].costs) >= 2

    def test_a_failed_build_passes_through_as_its_failure(
        self, component: Runner, good: list[MeasureInput]
    ) -> None:
        failed = BuildResult(None, Failure(FailureKind.BUILD_ERROR, "made up"))
        (future,) = component.run(good[:1], [failed])
        assert future.result(self.patience_seconds).failure == failed.failure

    def test_nothing_asked_is_nothing_run(self, component: Runner) -> None:
        assert list(component.run([], [])) == []

    def test_closing_twice_is_no_trouble(self, component: Runner) -> None:
        component.close()
        component.close()


class IsolatedRunnerContract(_Running, ImaginaryMeasurementContract):
    """A runner that measures: it believes no kernel, and survives every one.

    `options` are to limit a candidate to a second or less.
    """

    def test_each_result_is_that_of_its_input(
        self, host: PluginHost, component: Runner, builder: Builder
    ) -> None:
        told = [1e-3, 2e-3, 3e-3]
        asked = [self.ask(host, time=seconds) for seconds in told]
        results = self.results(component, builder, asked)
        assert [result.seconds for result in results] == pytest.approx(told)

    def test_there_are_as_many_samples_as_asked_for(
        self, host: PluginHost, component: Runner, builder: Builder
    ) -> None:
        asked = self.ask(host, Conditions(number=3, repeat=7, min_repeat_ms=0))
        (result,) = self.results(component, builder, [asked])
        assert result.costs == pytest.approx([1e-3] * 7)

    def test_cold_constants_have_copies_and_warm_ones_have_none(
        self, host: PluginHost, component: Runner, builder: Builder
    ) -> None:
        cold, warm = self.results(
            component,
            builder,
            [
                self.ask(host, Conditions(constants="cold"), time="copies"),
                self.ask(host, Conditions(constants="warm"), time="copies"),
            ],
        )
        assert min(cold.costs) > 1.5e-3
        assert warm.costs == pytest.approx([1e-3] * len(warm.costs))

    def test_activations_are_handed_over_as_in_a_network(
        self, host: PluginHost, component: Runner, builder: Builder
    ) -> None:
        asked = [self.ask(host, Conditions(said), time="handed") for said in ("network", "cold")]
        network, cold = self.results(component, builder, asked)
        assert network.costs == pytest.approx([2e-3] * len(network.costs))
        assert cold.costs == pytest.approx([1e-3] * len(cold.costs))

    def test_each_bad_candidate_costs_itself_only(
        self, host: PluginHost, component: Runner, builder: Builder
    ) -> None:
        told: list[dict[str, Any]] = [
            {},
            {"launch": "wrong"},
            {"launch": "silent"},
            {"launch": "fail"},
            {"launch": "overrun"},
            {"time": -1.0},
            {"launch": "fault"},
            {"launch": "crash"},
            {"launch": "hang"},
            {"time": 2e-3},
        ]
        asked = [self.ask(host, **harm) for harm in told]
        results = self.results(component, builder, asked)
        assert [result.failure and result.failure.kind for result in results] == [
            None,
            FailureKind.WRONG_ANSWER,
            FailureKind.WRONG_ANSWER,
            FailureKind.RUN_ERROR,
            FailureKind.WRONG_ANSWER,
            FailureKind.INVALID_RESULT,
            FailureKind.CRASH,
            FailureKind.CRASH,
            FailureKind.RUN_TIMEOUT,
            None,
        ]
        assert results[-1].seconds == pytest.approx(2e-3)

    def test_closing_cancels_what_has_no_result_yet(
        self, host: PluginHost, component: Runner, builder: Builder
    ) -> None:
        asked = [self.ask(host, launch="hang"), self.ask(host)]
        futures = component.run(asked, builder.build(asked))
        component.close()
        failures = [future.result(self.patience_seconds).failure for future in futures]
        assert [failure and failure.kind for failure in failures] == [FailureKind.CANCELLED] * 2
