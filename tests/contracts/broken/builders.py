"""A builder of the imaginary target that runs nothing: it knows what each config would do."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.roles import Artifact, BuildResult
from tilewright.vocabulary.measure import Failure, FailureKind
from tilewright_testing.builder import BuilderContract, IsolatedBuilderContract
from tilewright_testing.measurement import ImaginaryMeasurementContract
from tilewright_testing.support import imaginary_target

KINDS = {
    "refuse": FailureKind.INVALID_CONFIG,
    "fail": FailureKind.BUILD_ERROR,
    "crash": FailureKind.CRASH,
    "hang": FailureKind.BUILD_TIMEOUT,
}
COMPANY = "test_a_candidate_has_the_same_code_in_any_company"
ISOLATED = "test_each_bad_candidate_costs_itself_only"


class Good:
    fails = frozenset()

    def build(self, inputs):
        return [self.built(asked) for asked in inputs]

    def built(self, asked):
        kind = KINDS.get(asked.config["lower"])
        if kind is not None:
            return BuildResult(None, Failure(kind, f"{asked.config['lower']}d as asked"))
        return BuildResult(self.artifact(asked), timings={"lower": 1e-3})

    def artifact(self, asked):
        size = asked.task.workload.inputs[0].shape[0]
        program = json.dumps({**asked.config.values, "size": size}).encode()
        return Artifact(str(asked.task.target), "imaginary", program)

    def close(self):
        pass


class AnswersBackward(Good):
    fails = {COMPANY, ISOLATED}

    def build(self, inputs):
        return super().build(inputs)[::-1]


class NumbersItsCode(Good):
    fails = {COMPANY}

    count = 0

    def artifact(self, asked):
        self.count += 1
        made = super().artifact(asked)
        return Artifact(made.target, made.format, made.data, {"number": self.count})


class KeepsCodeByConfig(Good):
    fails = {"test_tasks_with_equal_configs_have_code_of_their_own"}

    def __init__(self):
        self.code = {}

    def artifact(self, asked):
        return self.code.setdefault(asked.config, super().artifact(asked))


class BuildsForAnotherTarget(Good):
    fails = {"test_each_input_has_code_for_its_target_and_the_seconds_spent"}

    def artifact(self, asked):
        made = super().artifact(asked)
        return Artifact("elsewhere", made.format, made.data)


class TellsMilliseconds(Good):
    fails = {"test_each_input_has_code_for_its_target_and_the_seconds_spent"}

    def built(self, asked):
        result = super().built(asked)
        return BuildResult(result.artifact, result.failure, {"lower": 1e3})


class WantsSomething(Good):
    fails = {"test_nothing_asked_is_nothing_built"}

    def build(self, inputs):
        return super().build(inputs) if inputs[0] else []


class ClosesOnce(Good):
    fails = {"test_closing_twice_is_no_trouble"}

    closed = False

    def close(self):
        assert not self.closed
        self.closed = True


class LetsErrorsThrough(Good):
    fails = {ISOLATED, "test_what_was_refused_says_why"}

    def built(self, asked):
        if asked.config["lower"] == "refuse":
            raise ValueError("refused as asked")
        return super().built(asked)


class CallsEveryFailureACrash(Good):
    fails = {ISOLATED}

    def built(self, asked):
        result = super().built(asked)
        if result.failure is None:
            return result
        return BuildResult(None, Failure(FailureKind.CRASH, result.failure.text))


class SaysNothing(Good):
    fails = {"test_what_was_refused_says_why"}

    def built(self, asked):
        result = super().built(asked)
        return BuildResult(result.artifact, result.failure and Failure(result.failure.kind))


class DiesWithTheFirstCrash(Good):
    fails = {ISOLATED, "test_it_goes_on_after_a_crash"}

    dead = False

    def built(self, asked):
        if self.dead:
            return BuildResult(None, Failure(FailureKind.INTERNAL, "no worker is left"))
        self.dead = asked.config["lower"] == "crash"
        return super().built(asked)


@cache
def loaded():
    return PluginHost.load([Path(imaginary_target.__file__)])


class _Variants:
    @pytest.fixture(
        params=[
            Good,
            AnswersBackward,
            NumbersItsCode,
            KeepsCodeByConfig,
            BuildsForAnotherTarget,
            TellsMilliseconds,
            WantsSomething,
            ClosesOnce,
            LetsErrorsThrough,
            CallsEveryFailureACrash,
            SaysNothing,
            DiesWithTheFirstCrash,
        ]
    )
    def variant(self, request):
        return request.param

    @pytest.fixture
    def host(self):
        return loaded()

    @pytest.fixture
    def component(self, variant):
        return variant()


class TestBuilders(_Variants, BuilderContract, ImaginaryMeasurementContract):
    pass


class TestIsolatedBuilders(_Variants, IsolatedBuilderContract):
    pass
