"""What every target that runs networks keeps to. Subclass and give the target.

>>> class TestMine(LinkContract):
...     target = "TARGET"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tilewright.canonical import canonical_json
from tilewright.host.plugin_host import PluginHost
from tilewright.roles import Artifact, Kernel, TargetBackend, TellsOverruns
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright_graph.compiled.linking import LoweredNetwork, lower_network
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.network import Network
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.selection.assembly import assemble
from tilewright_tensor.operators.operators import Operators
from tilewright_testing.support.on_target import OnTarget

_ERROR = 1e-4
_SIZE = 17


class LinkContract(OnTarget):
    """Links a network into one artefact, whose kernel gives the network's answers.

    The network has two inputs, two outputs, inner tensors, and a kernel that runs twice on other
    constants; kernels have their fallback configs.
    """

    tasks = ()

    @pytest.fixture
    def network(self, host: PluginHost) -> Network:
        rng = np.random.default_rng(0)
        first, second = (rng.standard_normal((_SIZE, _SIZE)).astype(np.float32) for _ in range(2))
        b = NetworkBuilder.of("linked", host)
        x, y = b.input("x", (3, _SIZE)), b.input("y", (3, _SIZE))
        inner = b.relu(b.dense(x, first))
        again = b.relu(b.dense(inner, second))
        return b.network([b.softmax(again), b.add(inner, y)])

    @pytest.fixture
    def backend(self, host: PluginHost, resolved: Target) -> TargetBackend:
        return host.backend(resolved.kind)

    @pytest.fixture
    def lowered(self, host: PluginHost, resolved: Target, network: Network) -> LoweredNetwork:
        extracted = extract(network, resolved, Operators.of(host))
        assembly = assemble(
            extracted, lambda task, _node: host.fallback_config(task, host.space(task)), host
        )
        return lower_network(network.name, network.fed, network.made, assembly, host)

    @pytest.fixture
    def kernel(
        self,
        backend: TargetBackend,
        resolved: Target,
        device: Device,
        lowered: LoweredNetwork,
    ) -> Iterator[Kernel]:
        """Loaded from a copy of the artefact's fields, its operands zero but for the constants."""
        made = backend.link(lowered.program, resolved)
        artifact = Artifact(made.target, made.format, bytes(made.data), dict(made.metadata))
        kernel = backend.load(artifact, device)
        arrays = [np.zeros(shape, dtype) for shape, dtype in lowered.program.operands]
        arrays[_constants(lowered)] = lowered.constants
        try:
            kernel.bind(arrays, {})
            yield kernel
        finally:
            kernel.close()

    def test_networks_become_plain_data_and_equal_ones_equal_data(
        self, backend: TargetBackend, resolved: Target, lowered: LoweredNetwork
    ) -> None:
        made, again = (backend.link(lowered.program, resolved) for _ in range(2))
        assert made.target == str(resolved)
        assert isinstance(made.data, bytes)
        assert canonical_json(made.metadata)
        assert made == again

    def test_the_answers_of_a_network_are_those_of_its_definition(
        self, host: PluginHost, network: Network, kernel: Kernel
    ) -> None:
        _run_and_check(kernel, network, 0, Operators.of(host))

    def test_every_run_of_a_network_sees_its_own_inputs(
        self, host: PluginHost, network: Network, kernel: Kernel
    ) -> None:
        _run(kernel, network, 0)
        _run_and_check(kernel, network, 1, Operators.of(host))

    def test_a_network_writes_nothing_but_its_outputs(
        self, network: Network, lowered: LoweredNetwork, kernel: Kernel
    ) -> None:
        given = _run(kernel, network, 0)
        for place, name in enumerate(network.asked):
            assert (np.asarray(kernel.read(place)) == given[name]).all(), name
        constants = np.asarray(kernel.read(_constants(lowered)))
        assert (constants == lowered.constants).all()
        if isinstance(kernel, TellsOverruns):
            assert kernel.find_overrun() == ""


def _constants(lowered: LoweredNetwork) -> int:
    """The number of the operand that holds all constants: the one after the inputs."""
    return sum(buffer.kind == "input" for buffer in lowered.program.buffers)


def _run(kernel: Kernel, network: Network, seed: int) -> dict[str, Any]:
    """Launch on seeded inputs, which it gives."""
    given = random_inputs(network, seed)
    for place, name in enumerate(network.asked):
        kernel.write(place, given[name])
    kernel.launch()
    return given


def _run_and_check(kernel: Kernel, network: Network, seed: int, operators: Operators) -> None:
    expected = evaluate(network, _run(kernel, network, seed), operators)
    for place, name in enumerate(network.results, len(network.inputs) + 1):
        wanted = expected[name]
        error = abs(np.asarray(kernel.read(place)).reshape(wanted.shape) - wanted).max()
        assert error <= _ERROR * abs(wanted).max(), f"{name}: {error}"
