"""Whatever is installed for a role is held against the suite of the role: what is new and untested fails here."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright_graph.selection.graph_problem import MAX_ERROR
from tilewright_graph.testing.graph_tuner import GraphTunerContract, MaxErrorContract
from tilewright_graph.testing.linking import LinkContract
from tilewright_search.testing.cost_model import CostModelContract
from tilewright_testing.backend import BackendContract
from tilewright_testing.builder import BuilderContract
from tilewright_testing.component import ComponentContract
from tilewright_testing.runner import RunnerContract
from tilewright_testing.scheduler import TaskSchedulerContract
from tilewright_testing.store import StoreContract
from tilewright_testing.strategy import StrategyContract
from tilewright_testing.support.on_target import OnTarget
from tilewright_testing.tuner import (
    BatchTunerContract,
    ModelGuidedTunerContract,
    ResumableTunerContract,
    TunerContract,
)

COMPONENTS = (
    BuilderContract,
    CostModelContract,
    GraphTunerContract,
    RunnerContract,
    StoreContract,
    TaskSchedulerContract,
    TunerContract,
)
CAPABILITIES = {
    "batch": BatchTunerContract,
    "resume": ResumableTunerContract,
    "model": ModelGuidedTunerContract,
}


@pytest.fixture(scope="module")
def host(acme: Path) -> PluginHost:
    return PluginHost.load()


@pytest.fixture(scope="module")
def tests() -> list[type]:
    """The concrete classes of this folder."""
    files = sorted(Path(__file__).parent.glob("test_*_contracts.py"))
    values = [value for file in files for value in runpy.run_path(str(file)).values()]
    return [v for v in values if isinstance(v, type) and v.__name__.startswith("Test")]


@pytest.mark.parametrize("suite", COMPONENTS, ids=lambda suite: suite.role)
def test_every_installed_component_is_tested(
    host: PluginHost, tests: list[type], suite: type[ComponentContract]
) -> None:
    tested = {test.name for test in _those(tests, suite)}
    assert set(host.components(suite.role)) - tested == set()


@pytest.mark.parametrize("suite", [BackendContract, LinkContract])
def test_every_installed_target_is_tested(
    host: PluginHost, tests: list[type], suite: type[OnTarget]
) -> None:
    tested = {host.resolve_target(test.target).kind for test in _those(tests, suite)}
    assert set(host.components("target")) - tested == set()


def test_every_installed_strategy_is_tested(host: PluginHost, tests: list[type]) -> None:
    tested = {
        strategy.name
        for test in _those(tests, StrategyContract)
        for allowed in [host.at_precision(test.precision)]
        for _, strategy, _ in test().cases(allowed, allowed.resolve_target(test.target))
    }
    assert set(host.components("strategy")) - tested == set()


def test_the_capabilities_of_a_tuner_are_what_its_suites_prove(
    host: PluginHost, tests: list[type]
) -> None:
    installed = host.components("tuner")
    for test in _those(tests, TunerContract):
        if not test.options and test.name in installed:
            proved = {word for word, suite in CAPABILITIES.items() if issubclass(test, suite)}
            assert installed[test.name].capabilities == proved, test.name


def test_a_graph_tuner_that_says_it_keeps_a_bound_is_tested_for_it(
    host: PluginHost, tests: list[type]
) -> None:
    known = host.components("graph_tuner").items()
    claimed = {name for name, one in known if MAX_ERROR in one.capabilities}
    assert claimed == {test.name for test in _those(tests, MaxErrorContract)}


def _those(tests: list[type], suite: type) -> Iterator[Any]:
    return (test for test in tests if issubclass(test, suite))
