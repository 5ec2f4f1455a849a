"""The target, builder and runner suites over CUDA: on a GPU where there is one, else emulated."""

from __future__ import annotations

import pytest

from tilewright.host import PluginHost
from tilewright.testing.backend import BackendContract
from tilewright.testing.measurement import BuilderContract, RunnerContract
from tilewright.testing.strategy import StrategyContract

pytest.importorskip("tilewright_cuda")

TASKS = (
    "conv2d(1x16x9x9, 16x16x3x3, strides=1, padding=1)",
    "conv2d(1x3x13x11, 32x3x5x5, strides=2, padding=2)",
    "dense(1x37, 11x37)",
    "dense(5x64, 32x64)",
    "conv2d(1x24x7x7, 24x1x3x3, padding=1, groups=24)",
    "max_pool2d(1x16x7x5, pool_size=3, strides=2, padding=1)",
    "softmax(3x11)",
    "add(1x5x3x7, 1x5x3x7) + relu()",
    "layout_transform(1x5x3x2, src=NCHW, dst=NHWC)",
)
TARGET = "cuda:arch=sm_90"


@pytest.fixture(autouse=True)
def _offered() -> None:
    if "cuda" not in PluginHost.load().components("target"):
        pytest.skip("no plugin offers cuda")


class TestCudaBackend(BackendContract):
    target = TARGET
    tasks = TASKS


class TestCudaStrategies(StrategyContract):
    target = TARGET
    tasks = TASKS


class TestCudaBuilder(BuilderContract):
    target = TARGET
    task = TASKS[3]
    builder_name, runner_name = "local", "local"


class TestCudaRunner(RunnerContract):
    target = TARGET
    task = TASKS[3]
    builder_name, runner_name = "local", "local"
