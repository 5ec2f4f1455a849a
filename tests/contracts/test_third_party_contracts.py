"""The suites over what tests/third_party_plugin offers, a distribution that this repository does not ship."""

from __future__ import annotations

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.target import Target
from tilewright_graph.testing.linking import LinkContract
from tilewright_pipeline.api.task_text import find_task
from tilewright_testing.backend import BackendContract, RotatingBackendContract
from tilewright_testing.scheduler import TaskSchedulerContract
from tilewright_testing.strategy import (
    ReproducibleStrategyContract,
    StrategyAnswersContract,
    StrategyContract,
)
from tilewright_testing.tuner import BatchTunerContract, ReproducibleTunerContract, TunerContract


@pytest.fixture(scope="module", autouse=True)
def _installed(acme):
    """Before any host is loaded."""


TASKS = (
    "conv2d(1x5x9x9, 7x5x3x3, strides=2, padding=1) + relu()",
    "dense(3x37, 11x37)",
    "softmax(3x11)",
)


class TestAcmeClimber(TunerContract, BatchTunerContract, ReproducibleTunerContract):
    name = "acme-climber"


class TestAcmeCostliest(TaskSchedulerContract):
    name = "acme-costliest"


class TestAcmeC(BackendContract, RotatingBackendContract):
    target = "acme-c"
    tasks = TASKS


class TestAcmeNetworks(LinkContract):
    target = "acme-c"


class TestAcmeStrategies(StrategyContract, StrategyAnswersContract, ReproducibleStrategyContract):
    target = "acme-c"
    tasks = TASKS


def test_a_dtype_that_c_has_not_is_no_task_of_it():
    host = PluginHost.load()
    target = Target.parse("acme-c")
    for dtype, strategies in (("float64", ["acme-default"]), ("float16", [])):
        task = find_task(f"add(3x4:{dtype}, 3x4:{dtype})", target, host, None)
        assert [one.name for one in host.strategies(task, "*")] == strategies
