"""What is squared, normalised or divided on the way keeps its range and its shape."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_models import read

from tilewright.errors import UsageError
from tilewright_graph.network.evaluate import evaluate
from tilewright_tensor.operators.operators import builtin_operators

RNG = np.random.default_rng(5)


def array(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.parametrize(
    ("kind", "attributes", "expected"),
    [
        ("ReduceL2", {"axes": [1], "keepdims": 0}, lambda x: np.sqrt((x**2).sum(1))),
        ("LpNormalization", {"axis": 1}, lambda x: x / np.sqrt((x**2).sum(1, keepdims=True))),
    ],
)
@pytest.mark.parametrize("row", [[300.0, 400.0], [1e-4, 1e-4]])
def test_squares_of_16_bits_neither_overflow_nor_vanish(kind, attributes, expected, row, compiled):
    given = np.float16([row])
    answer = compiled(kind, attributes, given)
    np.testing.assert_allclose(answer, expected(given.astype(np.float64)), rtol=2e-3)


@pytest.fixture
def compiled(compiled_on_x86):
    """What compiled code makes of a node of one operand."""

    def run(kind, attributes, given):
        dtype = helper.np_dtype_to_tensor_dtype(given.dtype)
        graph = helper.make_graph(
            [helper.make_node(kind, ["x"], ["y"], **attributes)],
            "squares",
            [helper.make_tensor_value_info("x", dtype, given.shape)],
            [helper.make_tensor_value_info("y", dtype, None)],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        return compiled_on_x86(read(model)).run({"x": given})["y"]

    return run


@pytest.mark.parametrize(
    ("axis", "scale", "shift"),
    [(1, (4,), None), (-1, (1,), (4,)), (-1, (2, 1, 4), None), (1, (3, 1), (2, 1, 1))],
)
def test_scales_of_layer_normalization_are_broadcast(axis, scale, shift, assert_agrees, make_model):
    constants = {"s": array(*scale)} | ({} if shift is None else {"b": array(*shift)})
    node = helper.make_node("LayerNormalization", ["x", *constants], ["y"], axis=axis)
    network = assert_agrees(make_model([node], {"x": (2, 3, 4)}, constants, opset=17))
    data = network.inputs[0]
    x = array(2, 3, 4).astype(np.float64)
    axes = tuple(range(axis % 3, 3))
    normal = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)
    expected = normal * constants["s"] + constants.get("b", 0)
    (answer,) = evaluate(network, {data: x}, builtin_operators()).values()
    np.testing.assert_allclose(answer, expected, rtol=1e-4, atol=1e-5)


def test_the_written_remainder_of_floats_has_the_divisors_sign(oracle):
    from tilewright_graph.network.builder import NetworkBuilder

    builder = NetworkBuilder("floats", builtin_operators())
    divisors = np.float32([[3, -3, 0.7, -0.7, 2, np.inf, -np.inf, 3.2e38]])
    operands = [builder.input("a", (1, 8)), builder.constant(divisors)]
    network = builder.network([builder.apply("modulo", operands, output="y")])
    given = {"a": np.float32([[7, 7, -7, -7, -1e-20, -1, 0, 3e38]])}
    answers = oracle.run(network, given, [])
    np.testing.assert_allclose(
        answers["y"], evaluate(network, given, builtin_operators())["y"], 1e-5
    )


def test_what_onnx_runtime_raises_on_inputs_is_one_line(make_model, oracle):
    table = {"t": array(1, 4)}
    graph = helper.make_graph(
        [helper.make_node("Gather", ["t", "i"], ["y"])],
        "lookup",
        [helper.make_tensor_value_info("i", TensorProto.INT64, (1,))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 4))],
        [helper.make_tensor("t", TensorProto.FLOAT, (1, 4), table["t"].ravel())],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)
    with pytest.raises(UsageError, match="onnxruntime: fails on these inputs"):
        oracle.run(model.SerializeToString(), {"i": np.int64([5])}, [])


def _seeded(nodes, constants, outputs=("y",)):
    from tilewright_onnx.model.random_weights import with_random_weights

    graph = helper.make_graph(
        nodes,
        "seeded",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3))],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [helper.make_tensor(n, d, np.shape(v), np.ravel(v)) for n, (d, v) in constants.items()],
    )
    return with_random_weights(helper.make_model(graph), 0)


def test_drawn_weights_leave_whole_numbers_and_what_branches_read():
    one = helper.make_tensor("one", TensorProto.INT64, [1], [1])
    branch = helper.make_graph(
        [helper.make_node("Mul", ["x", "half"], ["m"])],
        "branch",
        [],
        [helper.make_tensor_value_info("m", TensorProto.FLOAT, None)],
    )
    nodes = [
        helper.make_node("ConstantOfShape", ["s"], ["shape"], value=one),
        helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch),
        helper.make_node("Expand", ["z", "shape"], ["y"]),
    ]
    constants = {
        "s": (TensorProto.INT64, [2]),
        "c": (TensorProto.BOOL, True),
        "half": (TensorProto.FLOAT, 0.5),
        "k": (TensorProto.INT64, [7]),
    }
    made = _seeded(nodes, constants, ("y", "k"))
    assert [node.op_type for node in made.graph.node] == ["ConstantOfShape", "If", "Expand"]
    assert {tensor.name for tensor in made.graph.initializer} == {*constants}


def test_a_drawn_weight_of_negative_extent_is_refused():
    nodes = [
        helper.make_node("ConstantOfShape", ["s"], ["w"]),
        helper.make_node("Add", ["x", "w"], ["y"]),
    ]
    with pytest.raises(UsageError, match=r"'w': a weight of shape \[-1, -5\], expected extents"):
        _seeded(nodes, {"s": (TensorProto.INT64, [-1, -5])})
