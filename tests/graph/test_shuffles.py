"""Channel shuffles that copy nothing: which they are, and that answers stay."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.compiled.compile import compile_network
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.extraction.transforms import view_layout
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.selection.assembly import assemble
from tilewright_tensor.operators.operators import Operators


def pooled(b, x):
    return b.max_pool2d(x, pool_size=1)


def shuffled(b, x, groups: int):
    batch, channels, *pixels = b.specs[x].shape
    apart = b.reshape(x, shape=[batch, groups, channels // groups, *pixels])
    order = [0, 2, 1, *range(3, 3 + len(pixels))]
    return b.reshape(b.transpose(apart, axes=order), shape=[batch, channels, *pixels])


def network_of(groups: int, channels: int, batch: int = 1):
    b = NetworkBuilder("net")
    x = pooled(b, b.input("x", (batch, channels, 3, 5)))
    return b.network([b.add(pooled(b, shuffled(b, b.relu(x), groups)), x)])


def operators_called(network, context, block: int = 1) -> list[str]:
    extracted = extract(network, context.target, Operators.of(context.host))
    config = ConfigEntity("paper", {"block": block})
    calls = assemble(extracted, lambda task, node: config, context.host).calls
    return [call.task.workload.operator for call in calls]


def test_a_shuffle_is_no_kernel_but_at_most_one_transform(context):
    """In blocks four: at the input, before and behind the shuffle, and at the result."""
    network = network_of(2, 8)
    assert operators_called(network, context).count("transpose") == 0
    assert operators_called(network, context).count("layout_transform") == 1
    assert operators_called(network, context, block=4).count("layout_transform") == 4


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize(("groups", "channels"), [(2, 8), (3, 15), (4, 68), (7, 35), (5, 5)])
def test_answers_are_those_of_the_references(context, groups, channels, batch):
    network = network_of(groups, channels, batch)
    operators = Operators.of(context.host)
    compiled, _ = compile_network(extract(network, context.target, operators), context)
    inputs = random_inputs(network, 1)
    (answer,) = compiled.run(inputs).values()
    (expected,) = evaluate(network, inputs, operators).values()
    np.testing.assert_allclose(answer, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("shape", "made", "groups", "layout"),
    [
        ((1, 68, 7, 7), "NCHW", 4, "N4cCHW"),
        ((1, 68, 7, 7), "N17cCHW", 4, "NCHW"),
        ((1, 64, 7, 7), "NCHW16c", 4, None),
        ((1, 68, 7, 7), "N4cCHW", 4, None),
        ((2, 6, 9), "NCW:bfloat16", 3, "N3cCW:bfloat16"),
        ((2, 6), "NC", 3, "N3cC"),
    ],
)
def test_a_shuffle_is_another_layout_of_the_same_memory(shape, made, groups, layout):
    spec = TensorSpec(shape)
    assert view_layout(spec, made, spec, groups) == layout


def test_kernels_behind_another_shuffle_are_other_nodes(context, operators):
    def keys(groups: int) -> list[str]:
        extracted = extract(network_of(groups, 12), context.target, operators)
        return [kernel.key for kernel in extracted.kernels]

    assert keys(2)[:2] == keys(3)[:2]
    assert not set(keys(2)[2:]) & set(keys(3)[2:])


def test_what_is_no_shuffle_between_inner_tensors_is_a_kernel(context):
    """Of an input, to a result, read inside, of another order, of a view, under one."""

    def transposes(make) -> int:
        b = NetworkBuilder("net")
        x = b.input("x", (1, 8, 3, 3))
        made = make(b, x, pooled(b, x))
        network = b.network([made] if isinstance(made, str) else made)
        return operators_called(network, context).count("transpose")

    def inside(b, x, y):
        apart = b.reshape(y, shape=[1, 2, 4, 3, 3])
        turned = b.transpose(apart, axes=[0, 2, 1, 3, 4])
        return [pooled(b, b.reshape(turned, shape=[1, 8, 3, 3])), b.exp(turned)]

    def other_order(b, x, y):
        apart = b.reshape(y, shape=[1, 2, 4, 3, 3])
        turned = b.transpose(apart, axes=[0, 1, 2, 4, 3])
        return pooled(b, b.reshape(turned, shape=[1, 8, 3, 3]))

    def of_a_view(b, x, y):
        return pooled(b, shuffled(b, b.reshape(y, shape=[1, 4, 6, 3]), 2))

    def under_a_view(b, x, y):
        return b.exp(b.reshape(shuffled(b, y, 2), shape=[1, 72]))

    assert transposes(lambda b, x, y: pooled(b, shuffled(b, x, 2))) == 1
    assert transposes(lambda b, x, y: shuffled(b, y, 2)) == 1
    for make in (inside, other_order, of_a_view, under_a_view):
        assert transposes(make) == 1
