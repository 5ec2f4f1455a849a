"""Passes keep the answers, evaluated in float64 by references, and come to rest."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.vocabulary.target import Target
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.passes.builtin import BUILTIN_PASSES
from tilewright_graph.passes.graph_pass import GraphPassEntry, Phase, apply_passes

RNG = np.random.default_rng(5)


def array(*shape: int) -> np.ndarray:
    return RNG.uniform(0.5, 1.5, shape).astype(np.float32)


def applied(network, operators):
    return apply_passes(network, BUILTIN_PASSES, operators)


def same_answers(network, other, operators) -> bool:
    inputs = random_inputs(network, 1)
    before, after = evaluate(network, inputs, operators), evaluate(other, inputs, operators)
    assert before.keys() == after.keys()
    return all(np.abs(before[k] - after[k]).max() <= 1e-6 * np.abs(before[k]).max() for k in before)


def kinds(network) -> list[str]:
    return [node.operator for node in network.nodes]


def test_a_residual_network_keeps_its_answers(residual, operators):
    passed = applied(residual, operators)
    assert same_answers(residual, passed, operators)
    assert (passed.outputs, passed.observed) == (residual.outputs, residual.observed)


def test_batch_norm_behind_a_convolution_leaves_one_add(residual, operators):
    passed = kinds(applied(residual, operators))
    assert "batch_norm" not in passed
    assert "multiply" not in passed
    assert passed.count("add") == 4 + 1 + 1


def test_batch_norm_before_a_convolution_leaves_multiply_and_add(operators):
    b = NetworkBuilder("net")
    x = b.input("x", (1, 3, 5, 5))
    network = b.network([b.relu(b.batch_norm(x, array(3), array(3), array(3), array(3)))])
    passed = applied(network, operators)
    assert kinds(passed) == ["multiply", "add", "relu"]
    assert same_answers(network, passed, operators)


def test_batch_norm_behind_a_bias_goes_through_it(operators):
    b = NetworkBuilder("net")
    x = b.input("x", (1, 3, 5, 5))
    biased = b.add(b.conv2d(x, array(2, 3, 3, 3)), array(1, 2, 1, 1))
    network = b.network([b.batch_norm(biased, array(2), array(2), array(2), array(2))])
    passed = applied(network, operators)
    assert kinds(passed) == ["conv2d", "add"]
    assert same_answers(network, passed, operators)


def test_grouped_convolution_takes_the_factor_into_its_filters(operators):
    b = NetworkBuilder("net")
    x = b.input("x", (1, 4, 5, 5))
    network = b.network([b.multiply(b.conv2d(x, array(6, 2, 3, 3), groups=2), array(1, 6, 1, 1))])
    passed = applied(network, operators)
    assert kinds(passed) == ["conv2d"]
    assert same_answers(network, passed, operators)


def test_a_factor_on_a_convolution_with_two_readers_stays(operators):
    b = NetworkBuilder("net")
    y = b.conv2d(b.input("x", (1, 3, 5, 5)), array(2, 3, 3, 3))
    network = b.network([b.add(b.multiply(y, array(1, 2, 1, 1)), y)])
    assert kinds(applied(network, operators)) == ["conv2d", "multiply", "add"]


def test_a_factor_that_differs_within_a_channel_stays(operators):
    b = NetworkBuilder("net")
    y = b.conv2d(b.input("x", (1, 3, 5, 5)), array(2, 3, 3, 3))
    network = b.network([b.multiply(y, array(1, 2, 3, 3))])
    assert kinds(applied(network, operators)) == ["conv2d", "multiply"]


def test_a_constant_that_widens_the_data_is_not_gathered(operators):
    b = NetworkBuilder("net")
    x = b.input("x", (1, 1, 3, 3))
    network = b.network([b.add(b.add(x, array(1, 2, 1, 1)), array(1, 1, 1, 1))])
    passed = applied(network, operators)
    assert same_answers(network, passed, operators)
    assert passed.specs[passed.outputs[0]].shape == (1, 2, 3, 3)


def test_summands_on_either_side_are_gathered(operators):
    b = NetworkBuilder("net")
    x = b.input("x", (2, 3))
    network = b.network([b.add(array(1, 3), b.add(array(2, 3), b.add(x, array(1, 1))))])
    passed = applied(network, operators)
    assert kinds(passed) == ["add"]
    assert same_answers(network, passed, operators)


def test_identities_go(operators):
    b = NetworkBuilder("net")
    x = b.input("x", (1, 2, 3, 3))
    y = b.identity(b.relu(x))
    y = b.reshape(y, shape=[1, 2, 3, 3])
    y = b.pad(y, padding=[0] * 8)
    y = b.transpose(y, axes=[0, 1, 2, 3])
    network = b.network([b.exp(b.concat(y, axis=1))])
    passed = applied(network, operators)
    assert kinds(passed) == ["relu", "exp"]
    assert same_answers(network, passed, operators)


def test_an_identity_that_makes_a_result_stays(operators):
    b = NetworkBuilder("net")
    x = b.input("x", (2, 2))
    network = b.network([b.identity(x)])
    assert applied(network, operators) is network


def test_a_pool_over_the_whole_image_is_global(residual, operators):
    assert "global_avg_pool2d" in kinds(applied(residual, operators))


def test_a_padded_pool_is_not_global(operators):
    b = NetworkBuilder("net")
    x = b.input("x", (1, 2, 3, 3))
    network = b.network([b.avg_pool2d(x, pool_size=3, padding=1)])
    assert kinds(applied(network, operators)) == ["avg_pool2d"]


def averaged_pixels(first: str, channels: tuple[int, int], bias: bool = False, **pooling: object):
    """A convolution of single pixels and an average, the one named first."""
    b = NetworkBuilder("net")
    y = b.input("x", (2, channels[0], 9, 8))
    steps = {
        "conv2d": lambda y: b.conv2d(y, array(channels[1], channels[0], 1, 1)),
        "avg_pool2d": lambda y: b.avg_pool2d(y, **pooling),
    }
    y = steps.pop(first)(y)
    (last,) = steps.values()
    y = last(y)
    if bias:
        y = b.relu(b.add(b.multiply(y, array(1, channels[1], 1, 1)), array(1, channels[1], 1, 1)))
    return b.network([y])


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("channels", [(3, 7), (7, 3)])
def test_averages_of_every_second_pixel_come_before_convolutions(channels, counted, operators):
    """With margins that are counted or not, as a convolution of nothing is nothing."""
    pooling = {"pool_size": 3, "strides": 2, "padding": 1, "count_include_pad": counted}
    network = averaged_pixels("conv2d", channels, **pooling)
    passed = applied(network, operators)
    assert kinds(passed) == ["avg_pool2d", "conv2d"]
    assert same_answers(network, passed, operators)


def test_few_channels_are_averaged_and_factors_go_into_the_filters(operators):
    pooling = {"pool_size": 3, "padding": 1}
    network = averaged_pixels("avg_pool2d", (7, 3), bias=True, **pooling)
    passed = applied(network, operators)
    assert kinds(passed) == ["conv2d", "avg_pool2d", "add", "relu"]
    assert same_answers(network, passed, operators)


@pytest.mark.parametrize(
    ("first", "channels", "pooling"),
    [
        ("avg_pool2d", (3, 7), {"pool_size": 3, "padding": 1}),
        ("avg_pool2d", (7, 3), {"pool_size": 2, "strides": 2}),
        ("conv2d", (7, 3), {"pool_size": 3, "padding": 1}),
        ("avg_pool2d", (5, 5), {"pool_size": 3, "padding": 1}),
    ],
)
def test_averages_stay_where_the_other_order_is_no_less_work(first, channels, pooling, operators):
    network = averaged_pixels(first, channels, **pooling)
    assert applied(network, operators) is network


@pytest.mark.parametrize("convolution", [{"padding": 1}, {"strides": 2}, {"taps": 2}])
def test_averages_stay_beside_other_convolutions(convolution, operators):
    b = NetworkBuilder("net")
    taps = convolution.pop("taps", 1)
    y = b.conv2d(b.input("x", (1, 3, 9, 9)), array(7, 3, taps, taps), **convolution)
    network = b.network([b.avg_pool2d(y, pool_size=2, strides=2)])
    assert applied(network, operators) is network


def test_a_convolution_that_others_read_too_is_averaged_as_it_is(operators):
    b = NetworkBuilder("net")
    y = b.conv2d(b.input("x", (1, 3, 8, 8)), array(7, 3, 1, 1))
    network = b.network([b.avg_pool2d(y, pool_size=2, strides=2), b.relu(y)])
    assert applied(network, operators) is network


def test_products_of_many_axes_of_rows_have_one_and_take_along_what_is_behind_them(operators):
    b = NetworkBuilder("net")
    x = b.transpose(b.input("x", (3, 2, 4)), axes=[1, 0, 2])
    hidden = b.gelu(b.add(b.matmul(x, array(4, 6)), array(1, 1, 6)))
    residual = b.add(b.add(array(1, 1, 4), b.matmul(hidden, array(6, 4))), x)
    network = b.network([b.softmax(residual)])
    passed = applied(network, operators)
    assert same_answers(network, passed, operators)
    kernels = [kernel.task.workload for kernel in extract(passed, Target("x86"), operators).kernels]
    assert [(each.operator, each.inputs[0].shape, len(each.epilogue)) for each in kernels] == [
        ("transpose", (3, 2, 4), 0),
        ("matmul", (6, 4), 2),
        ("matmul", (6, 6), 2),
        ("softmax", (2, 3, 4), 0),
    ]


@pytest.mark.parametrize("place", ["input", "result", "observed", "one axis of rows"])
def test_products_stay_where_a_reshape_would_be_a_copy_or_gain_nothing(place, operators):
    b = NetworkBuilder("net")
    x = b.input("x", (1 if place == "one axis of rows" else 2, 3, 4))
    data = x if place == "input" else b.softmax(x)
    product = b.relu(b.matmul(data, array(4, 6)))
    last = product if place == "result" else b.softmax(product)
    network = b.network([last], observed=[product] if place == "observed" else [])
    assert kinds(applied(network, operators)) == kinds(network)


@pytest.mark.parametrize("shape", [(1, 3, 1), (2, 1, 6)])
def test_products_stay_where_what_is_behind_them_differs_between_axes_of_rows(shape, operators):
    b = NetworkBuilder("net")
    x = b.transpose(b.input("x", (3, 2, 4)), axes=[1, 0, 2])
    product = b.relu(b.add(b.matmul(x, array(4, 6)), array(*shape)))
    network = b.network([b.softmax(product)])
    assert kinds(applied(network, operators)) == kinds(network)


def test_nodes_on_constants_become_constants(operators):
    b = NetworkBuilder("net")
    x = b.input("x", (2, 3))
    summand = b.reshape(b.exp(array(6)), shape=[2, 3])
    network = b.network([b.add(x, summand)])
    passed = applied(network, operators)
    assert kinds(passed) == ["add"]
    assert same_answers(network, passed, operators)


def test_dead_nodes_and_constants_go_but_inputs_stay(operators):
    b = NetworkBuilder("net")
    x, unused = b.input("x", (2, 3)), b.input("unused", (4,))
    b.relu(b.add(x, array(1, 3)))
    network = b.network([b.exp(x)])
    passed = applied(network, operators)
    assert kinds(passed) == ["exp"]
    assert passed.inputs == ("x", unused)
    assert not passed.constants


def test_constants_that_are_equal_bit_by_bit_are_one(operators):
    b = NetworkBuilder("net")
    weight = array(6, 6)
    near, wide = weight.copy(), array(600, 6)
    near[3, 2] += 1
    far = wide.copy()
    far[377, 1] += 1  # a glance does not see it
    x = b.input("x", (2, 6))
    shared = b.dense(b.dense(x, weight), weight.copy())
    others = [b.dense(shared, w) for w in (near, weight.T.copy(), wide, wide.T.copy().T, far)]
    network = b.network([*others, b.add(x, np.float32([[0.0]])), b.add(x, np.float32([[-0.0]]))])
    passed = applied(network, operators)
    assert len(passed.constants) == len(network.constants) - 2
    first, second, *_, whole, again, other = [n.inputs[1] for n in passed.nodes[:-2]]
    assert first == second
    assert whole == again != other
    assert same_answers(network, passed, operators)


def test_a_network_that_is_done_is_returned_itself(residual, operators):
    passed = applied(residual, operators)
    assert applied(passed, operators) is passed


def test_the_order_of_registration_means_nothing(residual, operators):
    forth = apply_passes(residual, BUILTIN_PASSES, operators)
    back = apply_passes(residual, BUILTIN_PASSES[::-1], operators)
    assert str(forth) == str(back)


def test_passes_that_undo_each_other_are_named(residual, operators):
    from dataclasses import replace

    def rename(network, operators):
        return replace(network, name=network.name + "'")

    entries = [GraphPassEntry("restless", Phase.FOLD, lambda: rename)]
    with pytest.raises(RuntimeError, match="never come to rest: restless"):
        apply_passes(residual, entries, operators)


@pytest.mark.parametrize("phase", Phase)
def test_a_pass_after_a_phase_sees_what_the_phase_leaves_as_it_is(residual, operators, phase):
    inside = [entry for entry in BUILTIN_PASSES if entry.phase <= phase]
    seen = []

    def look(network, operators):
        seen.append(network)
        return network

    # by name it would come before all others
    entries = [*BUILTIN_PASSES, GraphPassEntry("a_look", phase, lambda: look, after=True)]
    apply_passes(residual, entries, operators)
    assert [str(network) for network in seen] == [str(apply_passes(residual, inside, operators))]


def test_whole_numbers_wrap_around_as_they_did(operators):
    b = NetworkBuilder("net")
    x = b.input("x", (1, 3), "int64")
    big = np.full((1, 1), 2**53 + 1, np.int64)
    network = b.network([b.add(b.add(x, big), big + 1)])
    (got,) = evaluate(applied(network, operators), {"x": np.full((1, 3), 2)}, operators).values()
    assert set(got.flat) == {2**54 + 5}


@pytest.mark.parametrize("large", [1e30, 1e-30])
def test_constants_whose_product_no_float_holds_stay_apart(large, operators):
    b = NetworkBuilder("net")
    x, factor = b.input("x", (1, 1)), np.full((1, 1), large, np.float32)
    products = b.multiply(b.multiply(x, factor), factor)
    sums = b.add(b.add(x, factor / factor * 3e38), factor / factor * 3e38)
    layer = b.multiply(b.dense(x, factor), factor)
    network = b.network([products, sums, layer])
    passed = applied(network, operators)
    values = {"x": np.full((1, 1), 1 / large, np.float32)}
    before, after = (evaluate(net, values, operators) for net in (network, passed))
    assert all(np.allclose(before[name], after[name], rtol=1e-6, atol=0) for name in before)
