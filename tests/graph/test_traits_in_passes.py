"""Operators of one's own take part in passes, fusion and layouts by the traits that they declare."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.extraction.fusion import fuse
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.expression_size import MOST_OPERANDS
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.passes.builtin import BUILTIN_PASSES
from tilewright_graph.passes.graph_pass import apply_passes
from tilewright_graph.selection.assembly import assemble
from tilewright_tensor.operators.operators import Operators

RNG = np.random.default_rng(5)
OWN = '''
from math import prod

from tilewright import hookimpl
from tilewright_tensor.ir.dag import compute, reduce_axis, reduce_sum
from tilewright_tensor.expressions.expr import maximum, select
from tilewright_tensor.operators.operator import Operand, operator


@operator(Operand("weight", role="constant", values="weight", linear=((1, 2),)))
def mixed(data, weight):
    """[N, H, K] times weights [K, O]."""
    k = reduce_axis(weight.shape[0], "k")
    shape = (*data.shape[:2], weight.shape[1])
    return compute("mixed", shape, lambda n, h, o: reduce_sum(data[n, h, k] * weight[k, o], k))


@operator(Operand("slope", linear=()), elementwise=True)
def sloped(data, slope):
    return compute("sloped", data.shape, lambda *p: maximum(data[p], 0.0) * slope[p])


@operator(elementwise=True, commutative=True)
def both(a, b):
    return compute("both", a.shape, lambda *p: maximum(a[p], 0.0) * maximum(b[p], 0.0))


@operator(view=True)
def rows(data, *, count=1):
    columns = prod(data.shape) // count
    width = data.shape[1]
    return compute(
        "rows",
        (count, columns),
        lambda i, j: data[(i * columns + j) // width, (i * columns + j) % width],
    )


@operator(concatenates=True)
def stacked(*tensors):
    ends = [sum(t.shape[1] for t in tensors[: i + 1]) for i in range(len(tensors))]
    n, _, h, w = tensors[0].shape

    def element(n, c, h, w):
        value = tensors[-1][n, c - (ends[-2] if len(ends) > 1 else 0), h, w]
        for i in reversed(range(len(tensors) - 1)):
            begin = ends[i] - tensors[i].shape[1]
            value = select(c < ends[i], tensors[i][n, c - begin, h, w], value)
        return value

    return compute("stacked", (n, ends[-1], h, w), element)


def _half(shape, attributes):
    n, c, h, w = map(range, shape)
    return [n, c[len(c) // 2 :], h, w]


@operator(slices=_half)
def upper_half(data):
    n, c, h, w = data.shape
    return compute("upper_half", (n, c - c // 2, h, w), lambda n, i, h, w: data[n, i + c // 2, h, w])


@operator(random=True)
def noisy(data):
    return compute("noisy", data.shape, lambda *place: data[place] * 1.25)


@operator()
def counted(*, count=3):
    return compute("counted", (count,), lambda at: select(at < 1, 2.0, 3.0))


@hookimpl
def tilewright_operators():
    return [mixed, sloped, both, rows, stacked, upper_half, noisy, counted]
'''


@pytest.fixture(scope="session")
def own(tmp_path_factory) -> PluginHost:
    file = tmp_path_factory.mktemp("own") / "own.py"
    file.write_text(OWN)
    return PluginHost.load([Path(__file__).with_name("paper_target.py"), file])


@pytest.fixture
def own_operators(own) -> Operators:
    return Operators.of(own)


def array(*shape: int) -> np.ndarray:
    return RNG.uniform(0.5, 1.5, shape).astype(np.float32)


def passed(network, operators):
    """The network after all passes, which computes the same."""
    after = apply_passes(network, BUILTIN_PASSES, operators)
    inputs = random_inputs(network, 1)
    expected, got = (evaluate(one, inputs, operators) for one in (network, after))
    for name, answer in expected.items():
        np.testing.assert_allclose(got[name], answer, rtol=1e-5, atol=1e-6)
    return after


def kinds(network) -> list[str]:
    return [node.operator for node in network.nodes]


def called(network, context, host) -> list[str]:
    extracted = extract(network, context.target, Operators.of(host))
    config = ConfigEntity("paper", {"block": 1})
    calls = assemble(extracted, lambda task, node: config, host).calls
    return [call.task.workload.operator for call in calls]


@pytest.mark.parametrize(
    ("layer", "data", "weight", "channels"),
    [
        ("conv1d", (1, 3, 7), (4, 3, 2), (1, 4, 1)),
        ("conv2d", (1, 3, 5, 6), (4, 3, 2, 2), (1, 4, 1, 1)),
        ("conv3d", (1, 3, 4, 5, 6), (4, 3, 2, 2, 2), (1, 4, 1, 1, 1)),
        ("dense", (2, 3), (4, 3), (1, 4)),
        ("matmul", (2, 3), (3, 4), (1, 4)),
        ("mixed", (2, 5, 3), (3, 4), (1, 1, 4)),
    ],
)
def test_affine_neighbours_of_every_layer_are_folded(layer, data, weight, channels, own_operators):
    b = NetworkBuilder("net", own_operators)
    y = b.apply(layer, [b.input("x", data), b.constant(array(*weight))])
    y = b.multiply(b.add(b.multiply(y, array(*channels)), array(*channels)), array(*channels))
    after = passed(b.network([b.multiply(y, array(*[1] * len(channels)))]), own_operators)
    assert kinds(after) == [layer, "add"]


def test_batch_norm_behind_a_convolution_of_three_axes_leaves_one_add(own_operators):
    b = NetworkBuilder("net", own_operators)
    y = b.conv3d(b.input("x", (1, 3, 4, 5, 6)), array(4, 3, 3, 3, 3), padding=1)
    after = passed(b.network([b.batch_norm(y, *(array(4) for _ in range(4)))]), own_operators)
    assert kinds(after) == ["conv3d", "add"]


def test_a_factor_that_differs_along_another_axis_stays(own_operators):
    b = NetworkBuilder("net", own_operators)
    y = b.mixed(b.input("x", (2, 5, 3)), array(3, 4))
    after = passed(b.network([b.multiply(y, array(1, 5, 1))]), own_operators)
    assert kinds(after) == ["mixed", "multiply"]


def test_factors_of_an_element_wise_operator_of_ones_own_are_gathered(own_operators):
    b = NetworkBuilder("net", own_operators)
    y = b.sloped(b.input("x", (2, 3, 4)), array(1, 3, 1))
    after = passed(
        b.network([b.multiply(b.multiply(y, array(2, 1, 4)), array(1, 3, 1))]), own_operators
    )
    assert kinds(after) == ["sloped"]


def test_operands_of_a_commutative_operator_may_change_places(own_operators, context):
    b = NetworkBuilder("net", own_operators)
    x = b.input("x", (1, 2))
    network = b.network([b.both(b.tanh(x), x), b.both(x, b.tanh(x))])
    found = extract(network, context.target, own_operators)
    assert len(found.kernels) == 2
    assert len(found.task_set()) == 1


def test_views_of_ones_own_are_no_kernels_and_go_where_they_change_nothing(own_operators, context):
    b = NetworkBuilder("net", own_operators)
    y = b.exp(b.input("x", (4, 6)))
    network = b.network([b.tanh(b.rows(b.rows(b.tanh(y), count=4), count=8))])
    after = passed(network, own_operators)
    assert kinds(after) == ["exp", "tanh", "rows", "tanh"]
    found = extract(after, context.target, own_operators)
    assert [kernel.task.workload.operator for kernel in found.kernels] == ["exp", "tanh"]
    assert len(found.views) == 1


def test_concatenations_and_slices_of_ones_own_copy_nothing(own, own_operators, context):
    b = NetworkBuilder("net", own_operators)
    first = b.max_pool2d(b.input("x", (1, 16, 4, 4)), pool_size=1)
    joined = b.stacked(first, b.exp(first))
    half = b.upper_half(b.max_pool2d(joined, pool_size=1))
    network = b.network([b.tanh(half)])
    assert called(passed(network, own_operators), context, own) == [
        "max_pool2d", "exp", "max_pool2d", "tanh",
    ]  # fmt: skip


def test_concatenations_of_very_many_are_split(own_operators):
    b = NetworkBuilder("net", own_operators)
    parts = [b.tanh(b.input(f"x{i}", (1, 1, 1, 2))) for i in range(2 * MOST_OPERANDS)]
    after = passed(b.network([b.stacked(*parts)]), own_operators)
    assert kinds(after).count("stacked") == 3


def test_an_element_wise_operator_of_ones_own_is_computed_with_what_is_before_it(own_operators):
    b = NetworkBuilder("net", own_operators)
    y = b.both(b.dense(b.input("x", (3, 4)), array(5, 4)), array(3, 5))
    assert len(fuse(b.network([y]), own_operators)) == 1


def test_random_numbers_are_drawn_when_a_network_runs(own_operators):
    b = NetworkBuilder("net", own_operators)
    drawn = b.noisy(b.constant(array(2, 3)))
    after = passed(b.network([b.add(b.input("x", (2, 3)), drawn)]), own_operators)
    assert kinds(after) == ["noisy", "add"]


def test_nodes_that_compute_the_same_are_one(own_operators):
    b = NetworkBuilder("net", own_operators)
    x = b.input("x", (1, 3, 5, 5))
    weight = array(4, 3, 3, 3)
    first, second = (b.relu(b.conv2d(x, weight.copy(), padding=1)) for _ in range(2))
    other = b.relu(b.conv2d(x, weight.copy()))
    after = passed(b.network([b.tanh(b.multiply(first, second)), other]), own_operators)
    assert kinds(after) == ["conv2d", "relu", "conv2d", "relu", "multiply", "tanh"]


def test_operands_in_either_order_compute_the_same_where_they_commute(own_operators):
    b = NetworkBuilder("net", own_operators)
    x, y = b.input("x", (2, 3)), b.input("y", (2, 3))
    joined = b.concat(b.both(x, y), b.both(y, x), b.subtract(x, y), b.subtract(y, x), axis=1)
    after = passed(b.network([b.tanh(joined)]), own_operators)
    assert kinds(after) == ["both", "subtract", "subtract", "concat", "tanh"]


def test_each_node_draws_random_numbers_of_its_own(own_operators):
    b = NetworkBuilder("net", own_operators)
    x = b.input("x", (2, 3))
    after = passed(b.network([b.subtract(b.noisy(x), b.noisy(x))]), own_operators)
    assert kinds(after) == ["noisy", "noisy", "subtract"]


def test_results_that_are_equal_keep_their_names(own_operators):
    b = NetworkBuilder("net", own_operators)
    x = b.input("x", (2, 3))
    network = b.network([b.exp(x), b.exp(x), b.tanh(b.exp(x))])
    after = passed(network, own_operators)
    assert after.outputs == network.outputs
    assert kinds(after) == ["exp", "exp", "tanh"]


def test_a_node_without_operands_is_a_constant(own_operators):
    b = NetworkBuilder("net", own_operators)
    network = b.network([b.multiply(b.input("x", (3,)), b.apply("counted", []))])
    assert kinds(passed(network, own_operators)) == ["multiply"]
