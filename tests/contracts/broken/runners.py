"""A runner of the imaginary target that runs nothing: it knows what each config would do."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.roles import Artifact, BuildResult
from tilewright.vocabulary.measure import Failure, FailureKind, MeasureResult
from tilewright_testing.measurement import ImaginaryMeasurementContract
from tilewright_testing.runner import IsolatedRunnerContract, RunnerContract
from tilewright_testing.support import imaginary_target

KINDS = {
    "wrong": FailureKind.WRONG_ANSWER,
    "silent": FailureKind.WRONG_ANSWER,
    "overrun": FailureKind.WRONG_ANSWER,
    "fault": FailureKind.CRASH,
    "fail": FailureKind.RUN_ERROR,
    "crash": FailureKind.CRASH,
    "hang": FailureKind.RUN_TIMEOUT,
}
ISOLATED = "test_each_bad_candidate_costs_itself_only"
ITS_OWN = "test_each_result_is_that_of_its_input"
SAMPLES = "test_there_are_as_many_samples_as_asked_for"
TIMES = "test_good_builds_have_times_as_often_as_they_are_asked_for"
HANDED = "test_activations_are_handed_over_as_in_a_network"
COLD = "test_cold_constants_have_copies_and_warm_ones_have_none"


class EmptyBuilder:
    def build(self, inputs):
        return [BuildResult(Artifact(str(asked.task.target), "imaginary", b"")) for asked in inputs]


class Good:
    fails = frozenset()

    def __init__(self):
        self.hung = []

    def run(self, inputs, builds):
        futures = [Future() for _ in inputs]
        for asked, built, future in zip(inputs, builds, futures, strict=True):
            if asked.config["launch"] == "hang" or self.hung:
                self.hung.append((future, self.result(asked, built)))
            else:
                future.set_result(self.result(asked, built))
        return [self.Patient(self, future) for future in futures]

    class Patient:
        """A future that lets time pass, up to the limit of a candidate, when it is waited for."""

        def __init__(self, runner, future):
            self.runner, self.future = runner, future

        def result(self, timeout):
            self.runner.limit_passes()
            return self.future.result(timeout)

    def limit_passes(self):
        for future, result in self.hung:
            future.set_result(result)
        self.hung = []

    def result(self, asked, built):
        if built.failure is not None:
            return MeasureResult(failure=built.failure)
        kind = KINDS.get(asked.config["launch"])
        if asked.config["time"] == -1.0:
            kind = FailureKind.INVALID_RESULT
        if kind is not None:
            return MeasureResult(failure=Failure(kind))
        return MeasureResult(self.costs(asked))

    def costs(self, asked):
        told = asked.config["time"]
        if told == "copies":
            told = 1e-3 * self.copies(asked)
        if told == "handed":
            told = 1e-3 * (1 + self.handed(asked))
        return (told,) * asked.conditions.repeat

    def copies(self, asked):
        return 8 if asked.conditions.constants == "cold" else 1

    def handed(self, asked):
        return asked.conditions.constants == "network"

    def close(self):
        for future, _ in self.hung:
            cancelled = Failure(FailureKind.CANCELLED)
            future.set_result(MeasureResult(failure=cancelled))
        self.hung = []


class AnswersBackward(Good):
    """Gives the result of a wrong input."""

    fails = {ISOLATED, HANDED, COLD, ITS_OWN}

    def run(self, inputs, builds):
        return super().run(inputs, builds)[::-1]


class KnowsOneTime(Good):
    """Every candidate has the time of the first."""

    fails = {ISOLATED, ITS_OWN, HANDED, COLD}

    first = None

    def costs(self, asked):
        self.first = self.first or super().costs(asked)
        return self.first


class RunsWhatWasNotBuilt(Good):
    fails = {"test_a_failed_build_passes_through_as_its_failure"}

    def result(self, asked, built):
        return super().result(asked, BuildResult(None))


class AnswersOnce(Good):
    fails = {TIMES, HANDED, COLD}

    def run(self, inputs, builds):
        asked = {each.config: (each, built) for each, built in zip(inputs, builds, strict=True)}
        return super().run(*map(list, zip(*asked.values(), strict=True))) if asked else []


class WantsSomething(Good):
    fails = {"test_nothing_asked_is_nothing_run"}

    def run(self, inputs, builds):
        return super().run(inputs, builds) if inputs[0] else []


class ClosesOnce(Good):
    fails = {"test_closing_twice_is_no_trouble"}

    closed = False

    def close(self):
        assert not self.closed
        self.closed = True
        super().close()


class TakesOneSample(Good):
    fails = {TIMES, SAMPLES}

    def costs(self, asked):
        return super().costs(asked)[:1]


class TakesFiveSamples(Good):
    fails = {SAMPLES}

    def costs(self, asked):
        return super().costs(asked)[:1] * 5


class TellsMicroseconds(Good):
    fails = {TIMES, ITS_OWN, SAMPLES, HANDED, COLD, ISOLATED}

    def costs(self, asked):
        return tuple(1e6 * seconds for seconds in super().costs(asked))


class KeepsConstantsWarm(Good):
    fails = {COLD}

    def copies(self, asked):
        return 1


class KeepsConstantsCold(Good):
    fails = {COLD}

    def copies(self, asked):
        return 8


class HandsNothingOver(Good):
    fails = {HANDED}

    def handed(self, asked):
        return 0


class ChecksNoAnswer(Good):
    fails = {ISOLATED}

    def result(self, asked, built):
        if asked.config["launch"] in ("wrong", "silent"):
            return MeasureResult(self.costs(asked))
        return super().result(asked, built)


class NeverAsksForOverruns(Good):
    fails = {ISOLATED}

    def result(self, asked, built):
        if asked.config["launch"] == "overrun":
            return MeasureResult(self.costs(asked))
        return super().result(asked, built)


class GoesOnAfterAFault(Good):
    """In the same process, where nothing works any more."""

    fails = {ISOLATED}

    lost = False

    def result(self, asked, built):
        self.lost = self.lost or asked.config["launch"] == "fault"
        if self.lost:
            return MeasureResult(failure=Failure(FailureKind.CRASH))
        return super().result(asked, built)


class TellsTimeBackward(Good):
    """Such a record is not read again."""

    fails = {TIMES}

    def result(self, asked, built):
        return replace(super().result(asked, built), timings={"time": -1e-3})


class BelievesEveryTime(Good):
    fails = {ISOLATED}

    def result(self, asked, built):
        if asked.config["time"] == -1.0:
            return MeasureResult((-1.0,) * 3)
        return super().result(asked, built)


class NeverTimesOut(Good):
    fails = {ISOLATED}

    def limit_passes(self):
        pass


class LeavesPendingWhenClosed(Good):
    fails = {"test_closing_cancels_what_has_no_result_yet"}

    def close(self):
        pass


@cache
def loaded():
    return PluginHost.load([Path(imaginary_target.__file__)])


class _Variants:
    patience_seconds = 0.01

    @pytest.fixture(
        params=[
            Good,
            AnswersBackward,
            KnowsOneTime,
            RunsWhatWasNotBuilt,
            AnswersOnce,
            WantsSomething,
            ClosesOnce,
            TakesOneSample,
            TakesFiveSamples,
            TellsMicroseconds,
            KeepsConstantsWarm,
            KeepsConstantsCold,
            HandsNothingOver,
            ChecksNoAnswer,
            NeverAsksForOverruns,
            GoesOnAfterAFault,
            TellsTimeBackward,
            BelievesEveryTime,
            NeverTimesOut,
            LeavesPendingWhenClosed,
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

    @pytest.fixture
    def builder(self):
        return EmptyBuilder()


class TestRunners(_Variants, RunnerContract, ImaginaryMeasurementContract):
    pass


class TestIsolatedRunners(_Variants, IsolatedRunnerContract):
    pass
