"""A strategy of the imaginary target, and what can be wrong with one. A plugin file.

The attribute `variant` of the target says which of them applies.
"""

from __future__ import annotations

import time
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from tilewright import Component, Strategy, hookimpl
from tilewright.host.plugin_host import PluginHost
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright_testing.strategy import (
    ReproducibleStrategyContract,
    StrategyAnswersContract,
    StrategyContract,
)
from tilewright_testing.support.imaginary_target import NAME, ImaginaryBackend, ImaginaryReference

INDEX = "test_a_config_has_the_same_index_each_time"
ELSEWHERE = "test_a_config_has_the_same_index_in_other_processes"
LAYOUTS = "test_layouts_name_every_operand_and_output"
PACKING = "test_inputs_survive_packing_and_unpacking"
LOWERED = "test_the_first_and_sampled_points_can_be_lowered"
ANSWER = "test_kernels_of_each_strategy_give_the_answer"


class NumpyReference(ImaginaryReference):
    def inputs(self, workload, seed, precision="float32"):
        return [np.array(values) for values in super().inputs(workload, seed)]

    def outputs(self, workload, inputs):
        return [np.array(values) for values in super().outputs(workload, inputs)]

    def pack(self, values, layout):
        return np.sort(values) if layout == "sorted" else super().pack(values, layout)


class Good:
    fails = frozenset()
    inputs, outputs, packed = ("forward", "backward"), ("forward",), {1}

    def applies(self, task):
        return task.target.attributes["variant"] == type(self).__name__

    def alternatives(self, task):
        return [self.alternative(type(self).__name__)]

    def alternative(self, name):
        knobs = Knobs(name)
        unroll = knobs.define_knob("unroll", self.values())
        lanes = knobs.define_knob("lanes", [1, 4, 8])
        self.constrain(knobs, unroll, lanes)
        return knobs.alternative()

    def constrain(self, knobs, unroll, lanes):
        knobs.constrain(unroll * lanes <= 32)

    def values(self):
        return [1, 2, 4, 8]

    def lower(self, task, config):
        return {"lower": "right", "launch": "right", "time": 1e-3}

    def layouts(self, task, config):
        return Layouts(self.inputs, self.outputs, frozenset(self.packed))

    def fallback(self, task):
        return None


class LiesAboutItsLayouts(Good):
    fails = {ANSWER}
    inputs = ("backward", "backward")


class ForgetsAnOperand(Good):
    fails = {LAYOUTS, PACKING, ANSWER}
    inputs = ("forward",)


class PacksActivations(Good):
    fails = {"test_only_constants_are_packed"}
    packed = {0, 1}


class PacksForGood(Good):
    fails = {PACKING, ANSWER}
    inputs = ("sorted", "backward")


class ChangesItsLayouts(Good):
    fails = {LAYOUTS}
    numbers = count()

    def layouts(self, task, config):
        output = ("forward", "onward")[next(self.numbers) % 2]
        return Layouts(self.inputs, (output,), frozenset(self.packed))


class GoesByAnotherName(Good):
    fails = {"test_alternatives_bear_the_name_of_their_strategy"}

    def alternatives(self, task):
        return [self.alternative("Good")]


class HasAnEmptyAlternative(Good):
    fails = {"test_every_alternative_has_a_feasible_point"}

    def alternatives(self, task):
        empty = Knobs(f"{type(self).__name__}/empty")
        empty.constrain(empty.define_knob("unroll", [1]) > 1)
        return [*super().alternatives(task), empty.alternative()]


class CountsOnItsIndexes(Good):
    """Its knobs have other values each time it is asked."""

    fails = {INDEX}
    numbers = count()

    def values(self):
        return [1, 2 + next(self.numbers)]


class DependsOnTheHashSeed(Good):
    fails = {ELSEWHERE}

    def values(self):
        return list({f"word {number}" for number in range(9)})

    def constrain(self, knobs, unroll, lanes):
        pass


class IsAnotherOneInEachProcess(Good):
    fails = {INDEX}

    def __init__(self):
        self.born = time.monotonic_ns()

    def values(self):
        return [1, self.born]


class AdvisesTheImpossible(Good):
    fails = {"test_the_fallback_is_a_point_of_the_space"}

    def fallback(self, task):
        return ConfigEntity(type(self).__name__, {"unroll": 8, "lanes": 8})


class IsRightAtItsFallbackOnly(Good):
    fails = {ANSWER}

    def fallback(self, task):
        return ConfigEntity(type(self).__name__, {"unroll": 1, "lanes": 1})

    def lower(self, task, config):
        right = config == self.fallback(task)
        return {**super().lower(task, config), "launch": "right" if right else "wrong"}


class CannotLowerAll(Good):
    fails = {LOWERED}

    def lower(self, task, config):
        if config["lanes"] == 1:
            raise ValueError("one lane is none")
        return super().lower(task, config)


VARIANTS = [
    Good,
    LiesAboutItsLayouts,
    ForgetsAnOperand,
    PacksActivations,
    PacksForGood,
    ChangesItsLayouts,
    GoesByAnotherName,
    HasAnEmptyAlternative,
    CountsOnItsIndexes,
    IsAnotherOneInEachProcess,
    AdvisesTheImpossible,
    IsRightAtItsFallbackOnly,
    CannotLowerAll,
]


@hookimpl
def tilewright_targets():
    return [
        Component(NAME, "does as it is told", lambda: lambda _options, _host: ImaginaryBackend())
    ]


@hookimpl
def tilewright_strategies():
    return [
        Strategy(variant.__name__, 1, (NAME,), (NAME,), lambda _host, variant=variant: variant())
        for variant in [*VARIANTS, DependsOnTheHashSeed]
    ]


@hookimpl
def tilewright_references():
    return [NumpyReference()]


@cache
def loaded():
    return PluginHost.load([Path(__file__)])


class _Variants:
    tasks = (f"{NAME}(37)",)

    @pytest.fixture
    def host(self):
        return loaded()

    @pytest.fixture
    def resolved(self, host, variant):
        return host.resolve_target(f"{NAME}:variant={variant.__name__}")


class TestStrategies(_Variants, StrategyContract, StrategyAnswersContract):
    @pytest.fixture(params=VARIANTS)
    def variant(self, request):
        return request.param


class TestStrategiesInOtherProcesses(_Variants, ReproducibleStrategyContract):
    @pytest.fixture(params=[Good, DependsOnTheHashSeed])
    def variant(self, request):
        return request.param
