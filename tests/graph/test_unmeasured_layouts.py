"""Layouts of kernels that nobody measured: what saves transforms that cost more is taken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright_graph.compiled.compile import compile_network
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.selection.dispatching import dispatch_network
from tilewright_pipeline.dispatch.contexts import ApplyFixedConfig
from tilewright_tensor.operators.operators import Operators

FILES = [Path(__file__).with_name(name) for name in ("paper_target.py", "chalk_strategy.py")]


def paper(block):
    return ConfigEntity("paper", {"block": block})


@pytest.fixture(scope="module")
def host():
    return PluginHost.load(FILES)


@pytest.fixture
def context(context):
    """On a device for which such pooling takes half as long to compute as to read and write."""
    device = replace(context.device, peak_flops={1: 4e9}, bandwidth={1: 1e9})
    return replace(context, strategies="*", device=device)


WINDOW = {"pool_size": 3, "strides": 1, "padding": 1}


def three_kernels(middle, context):
    """Average pooling on both sides of a kernel, in eight channels."""
    b = NetworkBuilder("three")
    y = b.avg_pool2d(b.input("x", (1, 8, 16, 16)), **WINDOW)
    y = b.avg_pool2d(middle(b, y), **WINDOW)
    return extract(b.network([y]), context.target, Operators.of(context.host))


@pytest.fixture
def pooled(context):
    return three_kernels(lambda b, y: b.max_pool2d(y, **WINDOW), context)


class Given(ApplyFixedConfig):
    """A config for each of some nodes."""

    def __init__(self, host, configs):
        super().__init__(host, "paper")
        object.__setattr__(self, "configs", configs)

    def find(self, task, node):
        answer = super().find(task, node)
        config = self.configs.get(node)
        return None if answer is None or config is None else replace(answer, config=config)


def dispatched(extracted, context, blocks, best="graph"):
    """With a block for each kernel but those of None, which are free."""
    keys = [kernel.key for kernel in extracted.kernels]
    given = {key: paper(n) for key, n in zip(keys, blocks, strict=True) if n is not None}
    with Given(context.host, given):
        found = dispatch_network(extracted, context, "default", best)
    return [found.configs[key] for key in keys], found


def test_another_strategys_advice_saves_two_transforms(pooled, context):
    configs, found = dispatched(pooled, context, (1, None, 1))
    assert configs[1] == ConfigEntity("chalk")
    assert found.assembly.transforms == 0
    assert found.sources["fallback"] == 1


def test_for_one_transform_it_is_too_slow(context):
    b = NetworkBuilder("both")
    y = b.max_pool2d(b.avg_pool2d(b.input("x", (1, 8, 16, 16)), **WINDOW), **WINDOW)
    network = b.network([b.avg_pool2d(y, **WINDOW), b.avg_pool2d(b.relu(y), **WINDOW)])
    extracted = extract(network, context.target, Operators.of(context.host))
    operators = [kernel.task.workload.operator for kernel in extracted.kernels]
    middle = operators.index("max_pool2d")
    blocks = [{"max_pool2d": None, "relu": 1}.get(name, 4) for name in operators]
    blocks[middle - 1] = 1
    configs, found = dispatched(extracted, context, blocks)
    assert configs[middle] == paper(4)
    with_paper = found.assembly.transforms
    blocks[middle] = 1
    assert dispatched(extracted, context, blocks)[1].assembly.transforms == with_paper - 1


def test_what_gains_nothing_stays_beside_what_does(context):
    b = NetworkBuilder("apart")
    x = b.input("x", (1, 8, 16, 16))
    y = b.avg_pool2d(b.max_pool2d(b.avg_pool2d(x, **WINDOW), **WINDOW), **WINDOW)
    z = b.avg_pool2d(b.relu(x), **WINDOW)
    extracted = extract(b.network([y, z]), context.target, Operators.of(context.host))
    operators = [kernel.task.workload.operator for kernel in extracted.kernels]
    blocks = [1 if name == "avg_pool2d" else None for name in operators]
    alone = operators.index("relu")
    blocks[alone + 1] = 4  # it has a transform on one side or the other
    configs, _ = dispatched(extracted, context, blocks)
    assert configs[operators.index("max_pool2d")] == ConfigEntity("chalk")
    assert configs[alone] == paper(4)


def test_what_moves_elements_takes_the_layout_of_its_neighbours(context):
    extracted = three_kernels(lambda b, y: b.concat(y, y, axis=3), context)
    for block, outside in ((1, 0), (8, 2)):
        configs, found = dispatched(extracted, context, (block, None, block))
        assert configs[1] == paper(block)
        assert found.assembly.transforms == outside, "of the network's input and its result"


def test_what_failed_is_not_taken(pooled, context, fail):
    fail(pooled.kernels[1].task, ConfigEntity("chalk"))
    configs, _ = dispatched(pooled, context, (1, None, 1))
    assert configs[1] == paper(4)


def test_by_fallback_each_keeps_its_own(pooled, context):
    configs, found = dispatched(pooled, context, (1, None, 1), "fallback")
    assert configs[1] == paper(4)
    assert found.assembly.transforms == 2


def test_beside_records_transforms_are_saved_too(pooled, context, record):
    for kernel in (pooled.kernels[0], pooled.kernels[2]):
        record(kernel.task, 1, 1e-6)
    found = dispatch_network(pooled, context, "default")
    assert found.configs[pooled.kernels[1].key] == ConfigEntity("chalk")


def test_the_network_answers_the_same(pooled, context):
    inputs = random_inputs(pooled.network, 0)
    keys = [kernel.key for kernel in pooled.kernels]
    answers = []
    for best, transforms in (("fallback", 2), ("graph", 0)):
        with Given(context.host, {keys[0]: paper(1), keys[2]: paper(1)}):
            compiled, report = compile_network(pooled, context, best=best)
        assert report.transforms == transforms
        (answer,) = compiled.run(inputs).values()
        answers.append(answer)
        compiled.close()
    np.testing.assert_array_equal(*answers)
