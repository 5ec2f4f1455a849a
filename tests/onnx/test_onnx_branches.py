"""`If`: the branch that is taken is read where its condition is known."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tilewright.errors import UsageError
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_onnx.reader import read_model

node = helper.make_node


def graph(nodes, output, constants=()):
    values = [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)]
    weights = [numpy_helper.from_array(np.float32(array), name) for name, array in constants]
    return helper.make_graph(nodes, "branch", [], values, weights)


def choosing(make_model, shape):
    """What exporters write of a condition on a size. Its branches use the same names."""
    then = graph([node("Sqrt", ["h"], ["s"])], "s")
    inner = graph([node("Mul", ["s", "w"], ["m"])], "m", [("w", 3.0)])
    other = graph([node("Neg", ["h"], ["m"])], "m")
    otherwise = graph(
        [
            node("Mul", ["h", "w"], ["s"]),
            node("If", ["yes"], ["r"], then_branch=inner, else_branch=other, name="inner"),
        ],
        "r",
        [("w", 0.5)],
    )
    nodes = [
        node("Relu", ["x"], ["h"]),
        node("Shape", ["x"], ["sizes"]),
        node("Gather", ["sizes", "axis"], ["size"]),
        node("Equal", ["size", "one"], ["fits"]),
        node("If", ["fits"], ["z"], then_branch=then, else_branch=otherwise, name="outer"),
        node("Exp", ["z"], ["y"]),
    ]
    constants = {"axis": np.array([1]), "one": np.array([1]), "yes": np.array(True)}
    return make_model(nodes, {"x": shape}, constants)


@pytest.mark.parametrize(
    ("shape", "operators"),
    [
        ((2, 1, 3), ["relu", "sqrt", "identity", "exp"]),
        ((2, 4, 3), ["relu", "multiply", "multiply", "identity", "identity", "exp"]),
    ],
)
def test_the_branch_that_the_sizes_choose_is_read(make_model, assert_agrees, shape, operators):
    network = assert_agrees(choosing(make_model, shape))
    assert [n.operator for n in network.nodes] == operators


def test_a_condition_that_is_computed_is_refused(make_model):
    branch = graph([node("Neg", ["x"], ["n"])], "n")
    nodes = [
        node("Cast", ["x"], ["c"], to=TensorProto.BOOL),
        node("If", ["c"], ["y"], then_branch=branch, else_branch=branch, name="odd"),
    ]
    with pytest.raises(UsageError, match="node 'odd': no reader for the ONNX operator 'If'"):
        read_model(make_model(nodes, {"x": (1,)}), NetworkBuilder("model"), {})


@pytest.mark.parametrize(
    ("condition", "branches"),
    [
        (np.array([True, False]), ("then_branch", "else_branch")),
        (np.float32(1), ("then_branch", "else_branch")),
        (np.array(True), ("else_branch",)),
        (np.array(True), ()),
    ],
)
def test_an_if_that_is_none_is_refused(make_model, condition, branches):
    given = dict.fromkeys(branches, graph([node("Neg", ["x"], ["n"])], "n"))
    model = make_model(
        [node("If", ["c"], ["y"], name="odd", **given)], {"x": (1,)}, {"c": condition}
    )
    with pytest.raises(UsageError, match="node 'odd': If "):
        read_model(model, NetworkBuilder("model"), {})


def test_a_branch_that_reads_what_is_not_there_is_refused(make_model):
    branch = graph([node("Neg", ["nothing"], ["n"])], "n")
    given = {"then_branch": branch, "else_branch": branch}
    model = make_model(
        [node("If", ["c"], ["y"], name="odd", **given)], {"x": (1,)}, {"c": np.array(True)}
    )
    with pytest.raises(UsageError, match=r"node 'odd/Neg_0': reads 'nothing', which no node"):
        read_model(model, NetworkBuilder("model"), {})
