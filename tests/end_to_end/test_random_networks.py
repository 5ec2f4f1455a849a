"""Random networks under random configs give the references' answers.

They have what places in memory can go wrong with: concats of concats made in place, tensors read
again much later, views, results that are read inside, an operand in two layouts at once.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.target import Target
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.compiled.linking import lower_network
from tilewright_graph.compiled.saved.saved_network import NetworkSignature
from tilewright_graph.extraction.extraction import ExtractedNetwork, extract
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.network import Network
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.selection.assembly import Assembly, assemble
from tilewright_tensor.operators.operators import Operators

SEEDS = range(40)
HOST = PluginHost.load()
OPERATORS = Operators.of(HOST)


def network(rng: random.Random) -> Network:
    """Up to twelve nodes over images of 16 channels or a multiple; the last one is a result."""
    b = NetworkBuilder("net", OPERATORS)
    weights = np.random.default_rng(rng.randrange(1 << 30))
    size = rng.choice([1, 2, 3, 4, 7])
    tensors = [b.input("x", (rng.choice([1, 1, 1, 2]), 16, size, size))]

    def alike(tensor: str, *axes: int) -> list[str]:
        """Tensors that agree with one on some axes."""
        mine = b.specs[tensor].shape
        return [t for t in tensors if all(b.specs[t].shape[a] == mine[a] for a in axes)]

    def convolution(x: str) -> str:
        filters, channels = rng.choice([16, 32]), b.specs[x].shape[1]
        weight = weights.standard_normal((filters, channels, 1, 1), np.float32) / channels**0.5
        return b.conv2d(x, weight)

    def concat(x: str) -> str:
        made = [t for t in alike(x, 0, 2, 3) if b.producer(t)]
        return b.concat(*rng.sample(made, min(len(made), 3)), axis=1) if made else b.neg(x)

    def reshaped(x: str) -> str:
        n, c, h, w = b.specs[x].shape
        return b.reshape(b.reshape(x, shape=(n, c * h * w)), shape=(n, c, w, h))

    rules = [
        convolution,
        concat,
        concat,
        reshaped,
        b.tanh,
        lambda x: b.add(x, rng.choice(alike(x, 0, 1, 2, 3))),
        lambda x: b.max_pool2d(x, pool_size=3, strides=1, padding=1),
    ]
    for _ in range(rng.randint(4, 12)):
        tensors.append(rng.choice(rules)(rng.choice(tensors[-4:])))
    made = list(dict.fromkeys(t for t in tensors if b.producer(t)))
    return b.network([made[-1]], rng.sample(made[:-1], rng.choice([0, 0, 1])))


def random_assembly(extracted: ExtractedNetwork, rng: random.Random) -> Assembly:
    """Any feasible config for each kernel; for concats one that can leave them without a call."""

    def choose(task, _node):
        pattern = "concat" if task.workload.operator == "concat" else "*"
        (config,) = HOST.space(task, pattern).sample(rng, 1)
        return config

    return assemble(extracted, choose, HOST)


def compiled(network: Network, extracted: ExtractedNetwork, assembly: Assembly) -> CompiledNetwork:
    lowered = lower_network("net", network.inputs, network.results, assembly, HOST)
    backend, specs = HOST.backend("x86"), network.specs
    signature = NetworkSignature(
        "net",
        {name: specs[name] for name in network.inputs},
        {name: specs[name] for name in network.results},
        {},
    )
    artifact = backend.link(lowered.program, extracted.target)
    return CompiledNetwork(artifact, lowered.constants, signature, HOST, backend.probe()[0])


def case(seed: int) -> tuple[Network, ExtractedNetwork, Assembly]:
    rng = random.Random(seed)
    made = network(rng)
    target = HOST.resolve_target("native")
    target = Target(target.kind, {**target.attributes, "threads": str(1 + seed % 2)})
    extracted = extract(made, target, OPERATORS)
    return made, extracted, random_assembly(extracted, rng)


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_are_those_of_the_references(seed: int) -> None:
    made, extracted, assembly = case(seed)
    ours = compiled(made, extracted, assembly)
    for turn in range(2):  # the arena is as the first run left it
        inputs = random_inputs(made, turn)
        answers = ours.run(inputs)
        for name, expected in evaluate(made, inputs, OPERATORS).items():
            largest = np.abs(expected).max()
            np.testing.assert_allclose(answers[name], expected, rtol=0, atol=1e-4 * largest)
    ours.close()


def test_the_cases_have_what_they_are_for() -> None:
    assemblies = [(extracted, assembly) for _, extracted, assembly in map(case, SEEDS)]
    inside = sum(t.within is not None for _, a in assemblies for t in a.tensors.values())
    assert inside > len(SEEDS) / 2
    assert sum(assembly.transforms for _, assembly in assemblies) > len(SEEDS)
    assert sum(len(extracted.views) for extracted, _ in assemblies) > len(SEEDS) / 2
