"""The tuner suites over every tuner that this repository ships, and over the third party's."""

from __future__ import annotations

import pytest

from tilewright.host import PluginHost
from tilewright.testing.tuner import (
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


class TestAcmeClimber(TunerContract, BatchTunerContract, ReproducibleTunerContract):
    name = "acme-climber"

    @pytest.fixture(autouse=True)
    def installed(self) -> None:
        pytest.importorskip("tilewright_acme", reason="install tests/acme_plugin")


def test_every_installed_tuner_has_a_suite() -> None:
    tested = {value.name for value in globals().values() if hasattr(value, "name")}
    assert set(PluginHost.load().components("tuner")) <= tested


def test_capabilities_are_what_the_suites_prove() -> None:
    suites = {
        "batch": BatchTunerContract,
        "resume": ResumableTunerContract,
        "model": ModelGuidedTunerContract,
    }
    installed = PluginHost.load().components("tuner")
    for value in list(globals().values()):
        if not (isinstance(value, type) and value.__name__.startswith("Test")) or value.options:
            continue
        if value.name in installed:
            proved = {word for word, suite in suites.items() if issubclass(value, suite)}
            assert installed[value.name].capabilities == proved, value.name
