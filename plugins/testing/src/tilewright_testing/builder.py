"""What every builder keeps to. Subclass, give its `name`, and a target and a task for the first.

>>> class TestMine(BuilderContract):
...     name, target, task = "mine", "TARGET", "OPERATOR(...)"
>>> class TestMineInIsolation(IsolatedBuilderContract):
...     name, options = "mine", {"timeout_seconds": 1}
"""

from __future__ import annotations

import json
from dataclasses import replace

from tilewright.host.plugin_host import PluginHost
from tilewright.roles import Builder
from tilewright.vocabulary.measure import FailureKind, MeasureInput
from tilewright_pipeline.api.task_text import find_task
from tilewright_testing.measurement import ImaginaryMeasurementContract, MeasurementContract
from tilewright_testing.support.imaginary_target import NAME


class BuilderContract(MeasurementContract):
    """Every builder: one artefact an input, in order, that depends on nothing else."""

    role = "builder"

    def test_each_input_has_code_for_its_target_and_the_seconds_spent(
        self, component: Builder, good: list[MeasureInput]
    ) -> None:
        results = component.build(good)
        assert [result.failure for result in results] == [None, None]
        for asked, result in zip(good, results, strict=True):
            assert result.artifact is not None
            assert result.artifact.target == str(asked.task.target)
            assert isinstance(result.artifact.data, bytes)
            assert all(0 <= seconds < 600 for seconds in result.timings.values())

    def test_a_candidate_has_the_same_code_in_any_company(
        self, component: Builder, good: list[MeasureInput]
    ) -> None:
        batches = [good, good[::-1], good[:1], good[1:]]
        built = [[result.artifact for result in component.build(batch)] for batch in batches]
        assert built[0] == built[1][::-1] == [*built[2], *built[3]]

    def test_nothing_asked_is_nothing_built(self, component: Builder) -> None:
        assert list(component.build([])) == []

    def test_closing_twice_is_no_trouble(self, component: Builder) -> None:
        component.close()
        component.close()


class IsolatedBuilderContract(ImaginaryMeasurementContract):
    """A builder that compiles: a bad candidate costs itself only, and says why.

    `options` are to limit a candidate to a second or less.
    """

    role = "builder"

    def test_each_bad_candidate_costs_itself_only(
        self, host: PluginHost, component: Builder
    ) -> None:
        told = ["right", "refuse", "right", "fail", "crash", "hang", "right"]
        asked = [self.ask(host, lower=word, time=1e-3 + n) for n, word in enumerate(told)]
        results = component.build(asked)
        assert [result.failure and result.failure.kind for result in results] == [
            None,
            FailureKind.INVALID_CONFIG,
            None,
            FailureKind.BUILD_ERROR,
            FailureKind.CRASH,
            FailureKind.BUILD_TIMEOUT,
            None,
        ]
        for wanted, result in zip(asked, results, strict=True):
            assert (result.artifact is None) == (result.failure is not None)
            if result.artifact is not None:
                assert json.loads(result.artifact.data) == {**wanted.config.values, "size": 37}

    def test_tasks_with_equal_configs_have_code_of_their_own(
        self, host: PluginHost, component: Builder
    ) -> None:
        small = self.ask(host)
        large = replace(small, task=find_task(f"{NAME}(41)", small.task.target, host, None))
        code = [result.artifact for result in component.build([small, large, small])]
        sizes = [json.loads(artifact.data)["size"] for artifact in code if artifact is not None]
        assert sizes == [37, 41, 37]

    def test_what_was_refused_says_why(self, host: PluginHost, component: Builder) -> None:
        (result,) = component.build([self.ask(host, lower="refuse")])
        assert result.failure is not None
        assert "refused as asked" in result.failure.text

    def test_it_goes_on_after_a_crash(self, host: PluginHost, component: Builder) -> None:
        component.build([self.ask(host, lower="crash")])
        (result,) = component.build([self.ask(host)])
        assert result.failure is None
