"""The imaginary target on numpy arrays, and what can be wrong with a target and its kernels."""

from __future__ import annotations

import json
from functools import cache
from itertools import count

import numpy as np
import pytest

from tilewright import Component, Strategy, hookimpl
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.roles import Artifact
from tilewright.vocabulary.device import Device
from tilewright_testing.backend import BackendContract, RotatingBackendContract
from tilewright_testing.support.imaginary_target import (
    NAME,
    ImaginaryBackend,
    ImaginaryKernel,
    ImaginaryReference,
    ImaginarySchedule,
)

ANSWER = "test_every_launch_gives_the_answer_and_writes_nothing_else"
WRITTEN = "test_what_is_written_reaches_every_copy"
TIMED = "test_timing_and_flushing_keep_the_answer"
APART = "test_kernels_do_not_disturb_each_other"
SECONDS = "test_times_are_seconds_of_all_launches_together"
PLAIN = "test_artifacts_are_plain_data_and_equal_for_equal_programs"
TURNS = "test_each_copy_has_its_turn"


class NumpyReference(ImaginaryReference):
    def inputs(self, workload, seed, precision="float32"):
        return [np.array(values) for values in super().inputs(workload, seed)]

    def outputs(self, workload, inputs):
        return [np.array(values) for values in super().outputs(workload, inputs)]


class Good(ImaginaryBackend):
    fails = frozenset()

    class Kernel(ImaginaryKernel):
        def time(self, number):
            for _ in range(number):
                self.launch()
            return super().time(number)

    def load(self, artifact, device):
        super().load(artifact, device)
        return self.Kernel(json.loads(artifact.data))


class SkipsTheTail(Good):
    fails = {ANSWER, WRITTEN, TIMED, APART}

    class Kernel(Good.Kernel):
        def compute(self, x, c, y):
            last = y[-1]
            super().compute(x, c, y)
            y[-1] = last


class WritesPastItsOutput(Good):
    """One element too many, where an input happens to lie."""

    fails = {ANSWER, WRITTEN, TIMED, APART}

    class Kernel(Good.Kernel):
        def compute(self, x, c, y):
            super().compute(x, c, y)
            x[0] = 0


class KnowsThatItWritesOutside(Good):
    """Where nothing of its own is, as its guards tell."""

    fails = {ANSWER, WRITTEN, TIMED, APART}

    class Kernel(Good.Kernel):
        def find_overrun(self):
            return "4 bytes behind operand 2"


class GivesItsMemoryToReaders(Good):
    fails = {"test_what_was_read_is_not_changed_by_later_launches", TURNS}

    class Kernel(Good.Kernel):
        def read(self, operand):
            return self.places[operand][0]


class ReadsOneElementBefore(Good):
    fails = {ANSWER, WRITTEN, TIMED, APART}

    class Kernel(Good.Kernel):
        def compute(self, x, c, y):
            super().compute(np.roll(x, 1), c, y)


class FillsTheFirstCopyOnly(Good):
    fails = {ANSWER, TIMED}

    class Kernel(Good.Kernel):
        def bind(self, arrays, copies):
            super().bind(arrays, copies)
            for places in self.places:
                for place in places[1:]:
                    place[:] = 0


class WritesTheFirstCopyOnly(Good):
    fails = {WRITTEN}

    class Kernel(Good.Kernel):
        def write(self, operand, array):
            self.places[operand][0][:] = array


class IgnoresRotatingConstants(Good):
    fails = {TURNS}

    class Kernel(Good.Kernel):
        def launch(self):
            super().launch()
            self.turn = 0


class SharesItsMemory(Good):
    fails = {APART}

    class Kernel(Good.Kernel):
        memory = {}

        def bind(self, arrays, copies):
            super().bind(arrays, copies)
            for operand, places in enumerate(self.places):
                known = self.memory.setdefault((operand, len(places), len(places[0])), places)
                for own, place in zip(known, places, strict=True):
                    own[:] = place
                self.places[operand] = known


class TellsTheTimeOfOneLaunch(Good):
    fails = {SECONDS}

    class Kernel(Good.Kernel):
        def time(self, number):
            return super().time(number) / number


class TellsMicroseconds(Good):
    fails = {SECONDS}

    class Kernel(Good.Kernel):
        def time(self, number):
            return 1e6 * super().time(number)


class SpoilsWhatItTimes(Good):
    fails = {TIMED}

    class Kernel(Good.Kernel):
        def time(self, number):
            seconds = super().time(number)
            self.places[-1][0][:] = 0
            return seconds


class FlushesByOverwriting(Good):
    fails = {TIMED}

    class Kernel(Good.Kernel):
        def flush(self):
            for places in self.places:
                for place in places:
                    place[:] = 0


class FindsOtherDevicesEachTime(Good):
    fails = {"test_probing_twice_finds_the_same_devices"}

    numbers = count()

    def probe(self):
        return [Device(f"{NAME}{next(self.numbers)}")]


class RefusesItsOwnDevice(Good):
    fails = {"test_the_device_runs_what_is_built_for_the_target"}

    def check_target(self, target, device):
        raise UsageError("not this one")


class NumbersItsArtifacts(Good):
    fails = {PLAIN}

    numbers = count()

    def build(self, program, target):
        made = super().build(program, target)
        return Artifact(made.target, made.format, made.data, {"number": next(self.numbers)})


class KeepsObjectsInItsArtifacts(Good):
    fails = {PLAIN}

    def build(self, program, target):
        made = super().build(program, target)
        return Artifact(made.target, made.format, made.data, {"kernel": self.Kernel})


class LoadsAnything(Good):
    fails = {"test_an_artifact_of_another_format_is_refused"}

    def load(self, artifact, device):
        return self.Kernel(json.loads(artifact.data))


class HasNoPeak(Good):
    fails = {"test_peaks_are_positive"}

    def measure_peak(self, device, target):
        return 0.0, 0.0


class Plugin:
    """What a plugin file of the variant would say."""

    def __init__(self, variant):
        self.variant = variant

    @hookimpl
    def tilewright_targets(self):
        return [Component(NAME, "a variant", lambda: lambda _options, _host: self.variant())]

    @hookimpl
    def tilewright_strategies(self):
        return [Strategy(NAME, 1, (NAME,), (NAME,), lambda _host: ImaginarySchedule())]

    @hookimpl
    def tilewright_references(self):
        return [NumpyReference()]


@cache
def loaded(variant):
    return PluginHost.load(extra=[Plugin(variant)])


class TestBackends(BackendContract, RotatingBackendContract):
    target = NAME
    tasks = (f"{NAME}(37)", f"{NAME}(1)")

    @pytest.fixture(
        params=[
            Good,
            SkipsTheTail,
            WritesPastItsOutput,
            KnowsThatItWritesOutside,
            GivesItsMemoryToReaders,
            ReadsOneElementBefore,
            FillsTheFirstCopyOnly,
            WritesTheFirstCopyOnly,
            IgnoresRotatingConstants,
            SharesItsMemory,
            TellsTheTimeOfOneLaunch,
            TellsMicroseconds,
            SpoilsWhatItTimes,
            FlushesByOverwriting,
            FindsOtherDevicesEachTime,
            RefusesItsOwnDevice,
            NumbersItsArtifacts,
            KeepsObjectsInItsArtifacts,
            LoadsAnything,
            HasNoPeak,
        ]
    )
    def variant(self, request):
        return request.param

    @pytest.fixture
    def host(self, variant):
        return loaded(variant)
