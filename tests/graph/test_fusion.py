"""Which element-wise nodes join which group, and what never joins."""

from __future__ import annotations

import numpy as np

from tilewright_graph.extraction.fusion import fuse
from tilewright_graph.network.builder import NetworkBuilder

ONES = np.ones


def groups(network, operators) -> list[list[str]]:
    return [[node.operator for node in group.nodes] for group in fuse(network, operators)]


def conv(b: NetworkBuilder, x: str, channels: int = 4) -> str:
    return b.conv2d(x, ONES((channels, 4, 1, 1), np.float32))


def start() -> tuple[NetworkBuilder, str]:
    b = NetworkBuilder("net")
    return b, b.input("x", (1, 4, 3, 3))


def test_bias_and_activation_join_their_convolution(operators):
    b, x = start()
    y = b.relu(b.add(conv(b, x), ONES((1, 4, 1, 1), np.float32)))
    assert groups(b.network([y]), operators) == [["conv2d", "add", "relu"]]


def test_a_residual_add_joins_the_later_branch_and_the_relu_follows(operators):
    b, x = start()
    first = conv(b, x)
    second = b.max_pool2d(x, pool_size=1)
    y = b.relu(b.add(first, second))
    assert groups(b.network([y]), operators) == [["conv2d"], ["max_pool2d", "add", "relu"]]


def test_a_diamond_keeps_its_shared_stem_apart(operators):
    b, x = start()
    stem = b.relu(conv(b, x))
    y = b.add(conv(b, stem), stem)
    assert groups(b.network([y]), operators) == [["conv2d", "relu"], ["conv2d", "add"]]


def test_a_tensor_with_two_readers_ends_its_group(operators):
    b, x = start()
    y = conv(b, x)
    network = b.network([b.relu(y), b.exp(y)])
    assert groups(network, operators) == [["conv2d"], ["relu"], ["exp"]]


def test_an_operand_read_twice_by_one_node_does_not_fuse(operators):
    b, x = start()
    y = conv(b, x)
    assert groups(b.network([b.multiply(y, y)]), operators) == [["conv2d"], ["multiply"]]


def test_an_output_or_observed_tensor_ends_its_group(operators):
    b, x = start()
    y = conv(b, x)
    assert groups(b.network([y, b.relu(y)]), operators) == [["conv2d"], ["relu"]]
    b, x = start()
    y = conv(b, x)
    assert groups(b.network([b.relu(y)], observed=[y]), operators) == [["conv2d"], ["relu"]]


def test_element_wise_nodes_alone_form_a_chain(operators):
    b, x = start()
    assert groups(b.network([b.tanh(b.exp(b.relu(x)))]), operators) == [["relu", "exp", "tanh"]]


def test_a_scale_a_rounding_and_a_cast_end_the_epilogue_of_a_product(operators):
    b, x = start()
    scale = b.constant(ONES((1, 4, 1, 1), np.float32))
    y = b.clip(b.round(b.multiply(conv(b, x), scale)), min=0.0, max=255.0)
    y = b.cast(y, dtype="uint8")
    # what follows may not be fused: the bytes may be one off
    z = b.multiply(b.cast(y, dtype="float32"), scale)
    network = b.network([z])
    assert groups(network, operators) == [
        ["conv2d", "multiply", "round", "clip", "cast"],
        ["cast", "multiply"],
    ]


def test_a_rounding_without_a_scale_begins_a_group(operators):
    b, x = start()
    y = b.cast(b.round(b.relu(conv(b, x))), dtype="int32")
    assert groups(b.network([y]), operators) == [["conv2d", "relu"], ["round"], ["cast"]]


def test_a_node_that_widens_its_operand_starts_a_group(operators):
    b, x = start()
    one = conv(b, x, channels=1)
    wide = b.add(one, x)
    assert groups(b.network([wide]), operators) == [["conv2d"], ["add"]]


def test_nothing_joins_a_reshape(operators):
    b, x = start()
    y = b.relu(b.reshape(conv(b, x), shape=[1, 36]))
    assert groups(b.network([y]), operators) == [["conv2d"], ["reshape"], ["relu"]]


def test_a_group_runs_when_all_it_reads_is_there(operators):
    """The first branch is ready long before the second, on which its epilogue's operand depends."""
    b, x = start()
    early = conv(b, x)
    late = b.global_avg_pool2d(b.relu(conv(b, x)))
    y = b.multiply(early, late)
    found = fuse(b.network([y]), operators)
    assert [g.anchor.operator for g in found] == ["conv2d", "global_avg_pool2d", "conv2d"]
    made: set[str] = {"x"}
    for group in found:
        inner = {node.output for node in group.nodes}
        read = {
            t for node in group.nodes for t in node.inputs if not t.startswith("conv2d_constant")
        }
        assert read - inner <= made
        made.add(group.output)
