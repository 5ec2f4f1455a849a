"""The suites over what tests/third_party_plugin offers, a distribution that this repository does not ship."""

from __future__ import annotations

import pytest

from tilewright.host import PluginHost
from tilewright.target import Target
from tilewright.task_text import find_task
from tilewright.testing.backend import BackendContract, RotatingBackendContract
from tilewright.testing.scheduler import TaskSchedulerContract
from tilewright.testing.strategy import (
    ReproducibleStrategyContract,
    StrategyAnswersContract,
    StrategyContract,
)
from tilewright.testing.tuner import BatchTunerContract, ReproducibleTunerContract, TunerContract
from tilewright_graph.testing.linking import LinkContract


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
