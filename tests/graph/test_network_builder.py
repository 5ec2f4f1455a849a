"""The builder infers shapes, names things apart, and says where a mistake is."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright_graph.network.builder import NetworkBuilder


def test_shapes_are_inferred_node_by_node(residual):
    shapes = [residual.specs[node.output].shape for node in residual.nodes]
    assert shapes[0] == (1, 8, 5, 5)
    assert shapes[-1] == (1, 7)


def test_every_operator_definition_is_a_method():
    b = NetworkBuilder("net")
    x = b.input("x", (1, 2, 3))
    assert b.network([b.hard_swish(x)]).nodes[0].operator == "hard_swish"


def test_attributes_are_stored_in_canonical_form():
    b = NetworkBuilder("net")
    x = b.input("x", (1, 3, 7, 7))
    y = b.conv2d(x, np.ones((2, 3, 3, 3), np.float32), strides=2, padding=1)
    node = b.network([y]).producers[y]
    assert (node.attributes["strides"], node.attributes["padding"]) == ((2, 2), (1, 1, 1, 1))


def test_equal_names_are_numbered():
    b = NetworkBuilder("net")
    x = b.input("x", (2, 2))
    assert [b.relu(x), b.relu(x), b.relu(x)] == ["relu", "relu_2", "relu_3"]


def test_an_array_operand_becomes_a_constant():
    b = NetworkBuilder("net")
    network = b.network([b.add(b.input("x", (2, 2)), np.ones((1, 2), np.float32))])
    (name,) = network.constants
    assert network.specs[name].role == "constant"


def test_operands_that_do_not_fit_name_the_node():
    b = NetworkBuilder("net")
    x = b.input("x", (1, 3, 7, 7))
    with pytest.raises(UsageError, match=r"net: node 'first': conv2d: .* do not fit"):
        b.conv2d(x, np.ones((2, 4, 3, 3), np.float32), name="first")


def test_an_unknown_operator_names_its_nearest():
    b = NetworkBuilder("net")
    with pytest.raises(AttributeError, match="did you mean 'conv2d'"):
        b.conv2()

    with pytest.raises(UsageError, match="did you mean 'conv2d'"):
        b.apply("conv2", [])


def test_an_output_that_nobody_makes_is_refused():
    with pytest.raises(UsageError, match="no tensor named 'y'"):
        NetworkBuilder("net").network(["y"])


def test_a_constant_is_no_output():
    b = NetworkBuilder("net")
    constant = b.constant(np.zeros(2), "c")
    with pytest.raises(UsageError, match="net: no node makes the output 'c'"):
        b.network([constant])


def test_an_output_named_twice_is_refused():
    b = NetworkBuilder("net")
    y = b.relu(b.input("x", (2,)))
    with pytest.raises(UsageError, match="the output 'relu' is named 2 times"):
        b.network([y, y])


def test_a_tensor_observed_twice_is_one_result():
    b = NetworkBuilder("net")
    logits = b.relu(b.input("x", (2, 2)))
    outputs = [b.softmax(logits, axis=axis) for axis in (0, 1)]
    network = b.network(outputs, observed=[logits, logits])
    assert network.results == (*outputs, logits)


def test_readers_count_operands_and_results():
    b = NetworkBuilder("net")
    x = b.input("x", (2, 2))
    y = b.add(x, x)
    network = b.network([y], observed=[y])
    assert (network.readers[x], network.readers[y]) == (2, 1)


def test_the_text_form_has_a_line_a_node(residual):
    lines = str(residual).splitlines()
    assert len(lines) == 1 + len(residual.nodes)
    assert lines[1].startswith("  conv2d = conv2d(x, conv2d_constant) {strides: ")


def test_a_network_that_needs_more_memory_at_once_than_any_may_is_refused():
    b = NetworkBuilder("net")
    parts = [b.input(f"x{i}", (2**15, 2**15), "float64") for i in range(9)]
    y = b.relu(parts[0])
    with pytest.raises(UsageError, match="net: the network needs"):
        b.network([y])


def test_an_input_that_no_memory_holds_is_refused_by_its_name():
    with pytest.raises(UsageError, match="net: input 'x': float32"):
        NetworkBuilder("net").input("x", (2**20, 2**20))
