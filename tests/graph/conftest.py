"""A host with the paper target, and networks small enough for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import (
    Conditions,
    Failure,
    FailureKind,
    MeasureInput,
    MeasureResult,
    Trial,
)
from tilewright.vocabulary.record import Record
from tilewright.vocabulary.target import Target
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network
from tilewright_graph.selection import graph_tuning
from tilewright_pipeline.context.run_context import RunContext
from tilewright_records.store.store import JsonlRecordStore
from tilewright_tensor.operators.operators import Operators

PAPER = Path(__file__).with_name("paper_target.py")


@pytest.fixture(scope="session")
def host() -> PluginHost:
    return PluginHost.load([PAPER])


@pytest.fixture(scope="session")
def operators(host: PluginHost) -> Operators:
    return Operators.of(host)


@pytest.fixture
def context(host: PluginHost, tmp_path: Path) -> RunContext:
    target = Target("paper")
    return RunContext(
        name="test",
        folder=tmp_path / "run",
        target=target,
        device=host.backend("paper").probe()[0],
        host=host,
        store=JsonlRecordStore(tmp_path / "records.jsonl"),
        conditions=Conditions(),
        seed=0,
        runner=("local", {}),
        builder=("local", {}),
        strategies="paper",
    )


@pytest.fixture
def record(context):
    """A function that puts a time of a task in the store, for a config or a block of `paper`."""

    def put(task, config, *costs, turns=1):
        if isinstance(config, int):
            config = ConfigEntity("paper", {"block": config})
        conditions = context.conditions.for_task(task)
        asked = MeasureInput(task, config, replace(conditions, turns=turns))
        trial = Trial(asked, MeasureResult(costs))
        context.store.append([Record.of(trial, context.device, 1)])

    return put


@pytest.fixture
def measured(monkeypatch, record):
    """The tuning loop replaced by a list of the tasks it was asked; everything takes 10 us."""
    asked = []

    def measure(pairs, context):
        asked.extend(entry.task for entry, _ in pairs)
        for entry, config in pairs:
            record(entry.task, config, 1e-5)
        report = {"trials": len(pairs), "failures": 0, "seconds": 0.5, "split": {"time": 0.25}}
        return type("Report", (), {"measurement": report})

    monkeypatch.setattr(graph_tuning, "measure_configs", measure)
    return asked


@pytest.fixture
def residual() -> Network:
    return residual_network()


def residual_network(channels: int = 8, size: int = 5, name: str = "residual") -> Network:
    """Stem with batch norm, a bottleneck with shortcut, pooling, reshape, dense, softmax; odd image size."""
    rng = np.random.default_rng(3)

    def weights(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)

    def norm(x: str, count: int) -> str:
        gamma, variance = (rng.uniform(0.5, 1.5, count).astype(np.float32) for _ in "gv")
        beta = rng.uniform(0.5, 1.5, count).astype(
            np.float32
        )  # positive: every channel is live behind a relu
        mean = rng.uniform(-0.5, 0.5, count).astype(np.float32)
        return b.batch_norm(x, gamma, beta, mean, variance)

    b = NetworkBuilder(name)
    x = b.input("x", (1, 3, size, size))
    stem = b.relu(norm(b.conv2d(x, weights(channels, 3, 3, 3), padding=1), channels))
    branch = b.relu(norm(b.conv2d(stem, weights(channels, channels, 3, 3), padding=1), channels))
    branch = norm(b.conv2d(branch, weights(channels, channels, 1, 1)), channels)
    short = norm(b.conv2d(stem, weights(channels, channels, 1, 1)), channels)
    joined = b.relu(b.add(branch, short))
    pooled = b.avg_pool2d(joined, pool_size=size)
    flat = b.reshape(pooled, shape=[1, channels])
    logits = b.add(b.dense(flat, weights(7, channels)), weights(1, 7))
    return b.network([b.softmax(logits)], observed=[logits])


@pytest.fixture
def chain(context):
    """Three poolings whose channels allow every block."""
    b = NetworkBuilder("chain")
    y = b.input("x", (1, 8, 6, 6))
    for size in (2, 3, 1):
        y = b.max_pool2d(y, pool_size=size)
    return extract(b.network([y]), context.target, Operators.of(context.host))


@pytest.fixture
def fail(context):
    """Notes a failure of a config as a record."""

    def noted(task, config):
        conditions = context.conditions.for_task(task)
        failure = Failure(FailureKind.BUILD_ERROR, "out of paper\n  in line 1")
        trial = Trial(MeasureInput(task, config, conditions), MeasureResult(failure=failure))
        context.store.append([Record.of(trial, context.device, 1)])

    return noted
