"""The table of what PyTorch exports, in the README of the plugin."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, defs, helper

from tilewright.errors import UsageError
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_onnx.reader import read_model

README = Path(__file__).parents[2] / "plugins" / "onnx" / "README.md"
ROWS = re.findall(r"^\| does not run: .*$", README.read_text(), re.MULTILINE)
REFUSED = [name for row in ROWS for name in re.findall("`([A-Za-z]+)`", row)]


def model_of(kind):
    """A model of one such node; its operands are inputs."""
    schema = defs.get_schema(kind, 18, "")
    names = [f"x{n}" for n in range(max(1, schema.min_input))]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in names]
    results = ["y", *(f"y{n}" for n in range(1, schema.min_output))]
    node = helper.make_node(kind, names, results, name="one")
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "graph", inputs, [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def test_the_table_names_what_users_miss():
    assert {"ScatterND", "NonZero", "If", "Loop", "QLinearConv"} <= set(REFUSED)


@pytest.mark.parametrize("kind", REFUSED)
def test_what_the_table_says_does_not_run_has_no_reader(kind):
    with pytest.raises(
        UsageError, match=f"node 'one': no reader for the ONNX operator '{kind}[',]"
    ):
        read_model(model_of(kind), NetworkBuilder("model"), {})


def test_all_nodes_without_reader_are_named_with_their_numbers(make_model):
    kinds = ["NonZero", "Det", "NonZero", "Relu", *["NonZero"] * 9]
    nodes = [helper.make_node(kind, ["x"], [f"t{n}"], name=f"n{n}") for n, kind in enumerate(kinds)]
    strides = helper.make_node("MaxPool", ["x"], ["p"], name="pool", kernel_shape=[0, 1])
    behind = helper.make_node("Compress", ["t1", "k"], ["v"], name="behind")
    last = helper.make_node("Add", ["v", "p"], ["y"])
    model = make_model(
        [*nodes, strides, behind, last], {"x": (1, 1, 4, 4)}, {"k": np.array([1], np.int64)}
    )
    with pytest.raises(UsageError) as error:
        read_model(model, NetworkBuilder("model"), {})
    named = "'n0', 'n2', 'n4', 'n5', 'n6', 'n7', 'n8', 'n9' and 3 more"
    lines = str(error.value).splitlines()
    assert lines[0] == (
        f"model: no reader for 3 ONNX operators: NonZero (11: {named}); Det (1: 'n1'); "
        "Compress (1: 'behind')"
    )
    assert lines[2].startswith("model: node 'pool': MaxPool: attribute 'kernel_shape' has 0")
    assert len(lines) == 3
