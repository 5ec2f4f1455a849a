"""The target, strategy, builder and runner suites over x86 and the local measurement; odd sizes throughout."""

from __future__ import annotations

import pytest

from tilewright.host import PluginHost
from tilewright.testing.backend import BackendContract
from tilewright.testing.measurement import BuilderContract, RunnerContract
from tilewright.testing.strategy import StrategyContract

pytest.importorskip("llvmlite")

TASKS = (
    "conv2d(1x16x9x9, 16x16x3x3, strides=1, padding=1)",
    "conv2d(1x3x13x11, 32x3x5x5, strides=2, padding=2)",
    "conv2d(1x32x7x7, 48x32x1x1)",
    "dense(1x37, 11x37)",
    "dense(5x64, 32x64)",
    "conv2d(1x16x9x9, 16x16x3x3, padding=1) + add(1x16x1x1:const) + relu()",
    "conv2d(1x24x7x7, 24x1x3x3, padding=1, groups=24)",
    "max_pool2d(1x16x7x5, pool_size=3, strides=2, padding=1)",
    "softmax(3x11)",
    "add(1x5x3x7, 1x5x3x7) + relu()",
    "layout_transform(1x5x3x2, src=NCHW, dst=NHWC)",
)


@pytest.fixture(autouse=True)
def _offered() -> None:
    if "x86" not in PluginHost.load().components("target"):
        pytest.skip("no plugin offers x86")


class TestX86Backend(BackendContract):
    target = "native"
    tasks = TASKS


class TestX86Strategies(StrategyContract):
    target = "native"
    tasks = TASKS


class TestX86StrategiesOnTwoThreads(StrategyContract):
    target = "x86:threads=2"
    tasks = TASKS[:2]


class TestLocalBuilder(BuilderContract):
    target = "native"
    task = TASKS[0]
    builder_name, runner_name = "local", "local"


class TestLocalRunner(RunnerContract):
    target = "native"
    task = TASKS[0]
    builder_name, runner_name = "local", "local"
