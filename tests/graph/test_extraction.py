"""Workloads of groups, equal tasks for equal layers, views, and keys that do not hang on names."""

from __future__ import annotations

import numpy as np

from tilewright.vocabulary.target import Target
from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.extraction.extraction import extract, readable_name
from tilewright_graph.extraction.transforms import transform_task
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.passes.builtin import BUILTIN_PASSES
from tilewright_graph.passes.graph_pass import apply_passes

PAPER = Target("paper")


def extracted(network, operators):
    return extract(apply_passes(network, BUILTIN_PASSES, operators), PAPER, operators)


def test_kernels_computed_by_references_give_the_networks_answers(residual, operators, host):
    """The workloads, epilogues included, say all there is to compute."""
    found = extracted(residual, operators)
    inputs = random_inputs(residual, 1)
    values = {**found.network.constants, **inputs}
    for kernel in found.kernels:
        operands = [
            values[found.root(name)].reshape(found.network.specs[name].shape)
            for name in kernel.inputs
        ]
        reference = host.reference(kernel.task.workload.operator)
        (values[kernel.output],) = reference.outputs(kernel.task.workload, operands)
    for name, expected in evaluate(residual, inputs, operators).items():
        np.testing.assert_allclose(values[name], expected, rtol=1e-4, atol=1e-6)


def test_the_epilogue_holds_position_and_operands(operators):
    b = NetworkBuilder("net")
    x, y = b.input("x", (1, 2)), b.input("y", (1, 2))
    b_relu = b.relu(x)
    network = b.network([b.subtract(y, b_relu)])
    (kernel,) = extract(network, PAPER, operators).kernels
    (step,) = kernel.task.workload.epilogue
    assert (step.operator, step.operands, step.position) == ("subtract", (1,), 1)
    assert kernel.inputs == ("x", "y")


def test_a_sum_in_either_order_is_one_task(operators):
    b = NetworkBuilder("net")
    x = b.input("x", (1, 2))
    first = b.add(b.relu(x), x)
    second = b.add(x, b.relu(x))
    found = extract(b.network([first, second]), PAPER, operators)
    assert len(found.kernels) == 2
    assert len(found.task_set()) == 1


def test_weights_count_how_often_a_task_occurs(operators):
    b = NetworkBuilder("net")
    y = b.input("x", (1, 4, 3, 3))
    for _ in range(3):
        y = b.relu(b.conv2d(y, np.ones((4, 4, 1, 1), np.float32)))
    (entry,) = extract(b.network([y]), PAPER, operators).task_set()
    assert entry.weight == 3
    assert entry.name == "conv2d_4x3x3_4x4x1x1+relu"


def test_equal_layers_of_two_networks_are_equal_tasks(operators):
    def network(name: str, channels: int):
        b = NetworkBuilder(name)
        x = b.input(f"{name}_in", (1, 4, 5, 5))
        y = b.relu(b.conv2d(x, np.full((channels, 4, 3, 3), 0.5, np.float32), padding=1))
        return extract(b.network([b.max_pool2d(y, pool_size=2)]), PAPER, operators)

    first, second, third = network("a", 6), network("b", 6), network("c", 7)
    assert [k.task for k in first.kernels] == [k.task for k in second.kernels]
    assert [k.key for k in first.kernels] == [k.key for k in second.kernels]
    assert not {k.key for k in first.kernels} & {k.key for k in third.kernels}


def test_equal_kernels_on_equal_inputs_have_keys_of_their_own(operators):
    b = NetworkBuilder("net")
    x = b.input("x", (1, 4))
    network = b.network([b.add(b.exp(b.relu(x)), b.exp(b.relu(x)))])
    keys = [kernel.key for kernel in extract(network, PAPER, operators).kernels]
    assert len(set(keys)) == len(keys)


def test_equal_kernels_behind_different_ones_differ_in_key(operators):
    b = NetworkBuilder("net")
    x = b.input("x", (1, 4, 4, 4))
    first = b.global_avg_pool2d(b.max_pool2d(x, pool_size=2))
    second = b.global_avg_pool2d(b.avg_pool2d(x, pool_size=2))
    kernels = extract(b.network([first, second]), PAPER, operators).kernels
    one, other = (k for k in kernels if k.output in (first, second))
    assert one.task == other.task
    assert one.key != other.key


def test_a_kernel_has_another_key_on_another_target(operators):
    b = NetworkBuilder("net")
    network = b.network([b.relu(b.input("x", (1, 2)))])
    (one,), (two,) = (
        extract(network, target, operators).kernels
        for target in (PAPER, Target("paper", {"threads": 2}))
    )
    assert one.key != two.key


def test_task_names_are_distinct(residual, operators):
    names = [entry.name for entry in extracted(residual, operators).task_set()]
    assert len(set(names)) == len(names)


def test_the_name_of_a_transform_says_between_which_layouts():
    task = transform_task(TensorSpec((1, 16, 5, 7)), "NCHW8c", "NCHW", PAPER)
    assert readable_name(task.workload) == "layout_transform_NCHW8c_NCHW_16x5x7"


def test_a_reshape_between_kernels_is_a_view(residual, operators):
    found = extracted(residual, operators)
    assert len(found.views) == 1
    assert all(kernel.task.workload.operator != "reshape" for kernel in found.kernels)


def test_a_flatten_between_kernels_is_a_view(operators):
    b = NetworkBuilder("net")
    x = b.flatten(b.relu(b.input("x", (1, 2, 3))))
    found = extract(b.network([b.reduce_sum(x)]), PAPER, operators)
    assert found.views == {"flatten": "relu"}


def test_a_reshape_of_an_input_or_to_an_output_is_a_kernel(operators):
    b = NetworkBuilder("net")
    x = b.input("x", (2, 6))
    y = b.relu(b.reshape(x, shape=[3, 4]))
    found = extract(b.network([b.reshape(y, shape=[12])]), PAPER, operators)
    assert [k.task.workload.operator for k in found.kernels] == ["reshape", "relu", "reshape"]


def test_views_of_views_share_a_root(operators):
    b = NetworkBuilder("net")
    y = b.relu(b.input("x", (2, 6)))
    deep = b.reshape(b.reshape(y, shape=[3, 4]), shape=[12])
    found = extract(b.network([b.exp(deep)]), PAPER, operators)
    assert found.root(deep) == y
