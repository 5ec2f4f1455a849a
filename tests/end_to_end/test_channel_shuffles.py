"""Grouped convolutions mixed by channel shuffles, all in plain NCHW: no copies, right answers."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.strategies.strategy import strategy_of
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.compiled.linking import lower_network
from tilewright_graph.compiled.saved.saved_network import NetworkSignature
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.network import Network
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.selection.assembly import assemble
from tilewright_tensor.operators.operators import Operators

HOST = PluginHost.load()
OPERATORS = Operators.of(HOST)
PLAIN = "planes.x86", "conv2d_pixels.x86"


def units(groups: int, of_one: int, size: int, batch: int) -> Network:
    """Two residual units of a ShuffleNet."""
    b, rng, channels = NetworkBuilder("net", OPERATORS), np.random.default_rng(0), groups * of_one

    def grouped(x: str, taps: int, groups: int) -> str:
        weight = rng.uniform(-1, 1, (channels, channels // groups, taps, taps)) / taps
        weight = (weight / np.sqrt(channels // groups)).astype(np.float32)
        return b.conv2d(x, weight, groups=groups, padding=taps // 2)

    x = b.max_pool2d(b.input("x", (batch, channels, size, size)), pool_size=3, padding=1)
    for _ in range(2):
        y = b.relu(grouped(x, 1, groups))
        y = b.reshape(y, shape=[batch, groups, of_one, size, size])
        y = b.reshape(b.transpose(y, axes=[0, 2, 1, 3, 4]), shape=b.specs[x].shape)
        y = grouped(grouped(y, 3, channels), 1, groups)
        x = b.relu(b.add(y, x))
    return b.network([x])


def plain_config(task: Task, then_shuffled: bool) -> ConfigEntity:
    """A config of a strategy that takes plain NCHW, the layout behind a shuffle where wanted."""
    space = HOST.space(task)
    (name,) = {strategy_of(one.name) for one in space.alternatives}.intersection(PLAIN)
    config = HOST.implementation(name).fallback(task) or HOST.space(task, name).first()
    return ConfigEntity(f"{name}/in_turn", config.values) if then_shuffled else config


@pytest.mark.parametrize("target", ["x86:threads=2", "x86:isa=avx2,threads=1"])
@pytest.mark.parametrize(
    ("groups", "of_one", "size", "batch"), [(4, 17, 14, 1), (3, 5, 7, 2), (2, 29, 9, 1)]
)
def test_no_call_copies_and_answers_stay(target, groups, of_one, size, batch):
    network = units(groups, of_one, size, batch)
    extracted = extract(network, HOST.resolve_target(target), OPERATORS)
    shuffled = {base for view, base in extracted.views.items() if view in extracted.shuffles}
    before = {kernel.key for kernel in extracted.kernels if kernel.output in shuffled}
    assembly = assemble(extracted, lambda task, key: plain_config(task, key in before), HOST)
    called = [call.task.workload.operator for call in assembly.calls]
    assert called == ["max_pool2d", *["conv2d"] * 6]
    compiled = linked(network, extracted.target, assembly)
    inputs = random_inputs(network, 3)
    (answer,) = compiled.run(inputs).values()
    (expected,) = evaluate(network, inputs, OPERATORS).values()
    np.testing.assert_allclose(answer, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    compiled.close()


def linked(network: Network, target: Target, assembly) -> CompiledNetwork:
    lowered = lower_network("net", network.inputs, network.results, assembly, HOST)
    backend, specs = HOST.backend("x86"), network.specs
    given, made = ({name: specs[name] for name in own} for own in (network.inputs, network.results))
    signature = NetworkSignature("net", given, made, {})
    artifact = backend.link(lowered.program, target)
    return CompiledNetwork(artifact, lowered.constants, signature, HOST, backend.probe()[0])
