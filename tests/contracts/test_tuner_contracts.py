"""The tuner suites over every tuner that this repository ships."""

from __future__ import annotations

from tilewright_testing.tuner import (
    BatchTunerContract,
    ModelGuidedTunerContract,
    ReproducibleTunerContract,
    ResumableTunerContract,
    TunerContract,
)


class TestGrid(
    TunerContract, BatchTunerContract, ResumableTunerContract, ReproducibleTunerContract
):
    name = "grid"


class TestRandom(
    TunerContract, BatchTunerContract, ResumableTunerContract, ReproducibleTunerContract
):
    name = "random"


class TestGenetic(
    TunerContract, BatchTunerContract, ResumableTunerContract, ReproducibleTunerContract
):
    name = "genetic"


class TestXgb(
    TunerContract,
    BatchTunerContract,
    ResumableTunerContract,
    ReproducibleTunerContract,
    ModelGuidedTunerContract,
):
    name = "xgb"


class TestEvolutionary(
    TunerContract,
    BatchTunerContract,
    ResumableTunerContract,
    ReproducibleTunerContract,
    ModelGuidedTunerContract,
):
    name = "evolutionary"


class TestXgbRank(TunerContract, ResumableTunerContract, ReproducibleTunerContract):
    name = "xgb"
    options = {"loss": "rank"}


class TestXgbOnRidge(TunerContract, BatchTunerContract, ResumableTunerContract):
    name = "xgb"
    options = {"cost_model": "ridge"}


class TestEvolutionaryOnLoops(TunerContract, BatchTunerContract, ResumableTunerContract):
    name = "evolutionary"
    options = {"features": "loops"}
