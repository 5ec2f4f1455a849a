"""Elements at computed indexes, operators that ONNX or the model defines by others, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tilewright.errors import UsageError
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_onnx.model.writer import write_model
from tilewright_onnx.reader import read_model
from tilewright_tensor.operators.operators import builtin_operators

node = helper.make_node


def gathering(make_model, table_shape, indices_shape, axis, *, known):
    model = make_model(
        [node("Gather", ["table", "ids"], ["y"], name="gather", axis=axis)],
        {} if known else {"table": table_shape},
        {"table": np.random.default_rng(1).uniform(-1, 1, table_shape).astype(np.float32)}
        if known
        else {},
    )
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, indices_shape)
    model.graph.input.append(ids)
    return model


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("table", "indices", "axis"),
    [((7, 3), (2, 5), 0), ((7, 3), (), 0), ((2, 7, 3), (4,), 1), ((2, 3, 7), (2, 2), -1)],
)
def test_elements_at_computed_indexes_are_those_of_onnx_runtime(
    known, table, indices, axis, make_model, oracle
):
    model = gathering(make_model, table, indices, axis, known=known)
    network = read_model(model, NetworkBuilder("model"), {})
    rng = np.random.default_rng(5)
    inputs = {
        "ids": rng.integers(-7, 7, indices),
        "table": rng.uniform(-1, 1, table).astype(np.float32),
    }
    inputs = {name: inputs[name] for name in network.inputs}
    (expected,) = oracle.run(network.source, inputs, ()).values()
    (found,) = evaluate(network, inputs, builtin_operators()).values()
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    (again,) = oracle.run(write_model(network).SerializeToString(), inputs, ()).values()
    np.testing.assert_allclose(again, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_elements_that_no_product_keeps_are_found_at_computed_indexes(
    dtype, make_model, compiled_on_x86
):
    table = np.arange(21).reshape(7, 3).astype(dtype)
    table[2] = 2**53 + 1 if dtype == "int64" else -np.inf
    model = gathering(make_model, (7, 3), (2, 2), 0, known=True)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(table, "table"))
    model.graph.output[0].type.tensor_type.elem_type = getattr(
        TensorProto, {"int64": "INT64", "float32": "FLOAT"}[dtype]
    )
    network = read_model(model, NetworkBuilder("model"), {})
    ids = np.array([[2, -1], [0, -7]])
    (found,) = compiled_on_x86(network).run({"ids": ids}).values()
    np.testing.assert_array_equal(found, table[ids])


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
def test_margins_reversals_and_known_indexes_are_one_kernel_each(mode, make_model):
    size, margin = 1000, 600
    pads = np.array([0, margin, 0, margin])
    backwards = {
        "b": np.array([-1]),
        "e": np.array([-(2**31)]),
        "a": np.array([1]),
        "s": np.array([-1]),
    }
    chance = np.random.default_rng(0).integers(0, 2200, 1000)
    model = make_model(
        [
            node("Pad", ["x", "p"], ["padded"], mode=mode),
            node("Slice", ["padded", "b", "e", "a", "s"], ["turned"]),
            node("Gather", ["turned", "i"], ["y"], axis=1),
        ],
        {"x": (2, size)}, {"p": pads, "i": chance, **backwards}, opset=19,
    )  # fmt: skip
    network = read_model(model, NetworkBuilder("model"), {})
    kernels = [one for one in network.nodes if one.operator not in ("pad", "reshape")]
    assert [one.operator for one in kernels] == ["take", "slice", "take"]
    x = np.random.default_rng(1).uniform(-1, 1, (2, size)).astype(np.float32)
    (found,) = evaluate(network, {"x": x}, builtin_operators()).values()
    padded = np.pad(x, ((0, 0), (margin, margin)), mode)
    np.testing.assert_array_equal(found.astype(np.float32), padded[:, ::-1][:, chance])


def test_known_indexes_beyond_the_axis_are_refused(make_model):
    model = make_model(
        [node("Gather", ["x", "i"], ["y"], name="gather")], {"x": (2, 3)}, {"i": np.array([2])}
    )
    with pytest.raises(UsageError, match="node 'gather': Gather of an element outside axis 0, whi"):
        read_model(model, NetworkBuilder("model"), {})


@pytest.mark.parametrize("equation", ["ij,kj->i", "ii,ij->j", "...i,ij->...j", "ij->ji"])
def test_an_einsum_that_is_no_matrix_product_is_refused(equation, make_model):
    names = ["x", "z"][: equation.count(",") + 1]
    model = make_model([node("Einsum", names, ["y"], name="e", equation=equation)],
                       dict.fromkeys(names, (3, 3)))  # fmt: skip
    with pytest.raises(UsageError, match=r"node 'e': Einsum '.*'; expected two operands, whose"):
        read_model(model, NetworkBuilder("model"), {})


def test_a_function_of_the_model_is_what_it_is_made_of(make_model, assert_agrees):
    body = [node("Mul", ["a", "a"], ["s"]), node("Add", ["s", "b"], ["r"])]
    opsets = [helper.make_opsetid("", 13)]
    function = helper.make_function("mine", "square_and", ["a", "b"], ["r"], body, opsets)
    calls = [
        node("square_and", ["x", "x"], ["p"], domain="mine"),
        node("square_and", ["p", "x"], ["y"], domain="mine"),
    ]
    model = make_model(calls, {"x": (2, 3)})
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("mine", 1))
    assert [n.operator for n in assert_agrees(model).nodes] == ["multiply", "add"] * 2


def test_attention_is_what_onnx_defines_it_by(make_model, assert_agrees):
    attention = node("Attention", ["q", "k", "v"], ["y"], q_num_heads=2, kv_num_heads=2)
    shapes = {"q": (1, 3, 8), "k": (1, 5, 8), "v": (1, 5, 8)}
    assert_agrees(make_model([attention], shapes, opset=23))


@pytest.mark.parametrize("dim", [0, 4])
def test_a_rotary_embedding_of_all_or_some_elements_is_read(dim, make_model, assert_agrees):
    rotary = node("RotaryEmbedding", ["x", "cos", "sin"], ["y"], rotary_embedding_dim=dim)
    half = (dim or 8) // 2
    shapes = {"x": (1, 2, 3, 8), "cos": (1, 3, half), "sin": (1, 3, half)}
    assert_agrees(make_model([rotary], shapes, opset=23))


def test_two_nodes_of_one_definition_share_no_names(make_model, assert_agrees):
    nodes = [node("Mish", ["x"], ["m"]), node("Mish", ["m"], ["y"])]
    assert_agrees(make_model(nodes, {"x": (2, 3)}, opset=18))


def test_a_name_may_be_what_another_node_is_called_by_its_place(make_model, assert_agrees):
    nodes = [node("Mish", ["x"], ["m"], name="Mish_1"), node("Mish", ["m"], ["y"])]
    assert_agrees(make_model(nodes, {"x": (2, 3)}, opset=18))


def test_what_has_no_definition_is_refused_by_its_name(make_model):
    odd = node("NonZero", ["x"], ["y"], name="odd")
    with pytest.raises(UsageError, match="node 'odd': no reader for the ONNX operator 'NonZero'"):
        read_model(make_model([odd], {"x": (2,)}), NetworkBuilder("model"), {})


def test_what_onnx_runtime_made_of_a_model_is_told_from_it(make_model):
    fused = node("FusedConv", ["x", "w"], ["y"], name="odd", domain="com.microsoft")
    model = make_model([fused], {"x": (1, 2, 3, 3), "w": (4, 2, 1, 1)})
    with pytest.raises(
        UsageError,
        match=r"the ONNX operator 'com.microsoft.FusedConv'\n  ONNX Runtime made it: give",
    ):
        read_model(model, NetworkBuilder("model"), {})


@pytest.mark.parametrize("mask", [(1, 1, 1, 11), (2, 1, 7, 11)])
def test_attention_is_written_as_the_nodes_that_it_stands_for(mask, oracle):
    b = NetworkBuilder("net")
    queries, keys = b.input("q", (2, 3, 7, 5)), b.input("k", (2, 3, 11, 5))
    values, margin = b.input("v", (2, 3, 11, 4)), b.input("m", mask)
    network = b.network([b.attention(queries, keys, values, margin, scale=0.3)])
    rng = np.random.default_rng(2)
    inputs = {n: rng.uniform(-1, 1, network.specs[n].shape).astype(np.float32) for n in "qkvm"}
    (expected,) = oracle.run(write_model(network).SerializeToString(), inputs, ()).values()
    (found,) = evaluate(network, inputs, builtin_operators()).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
