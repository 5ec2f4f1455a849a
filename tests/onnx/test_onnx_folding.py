"""Nodes on constants: evaluated when the model is read, to what the network would compute."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_models import node, read

from tilewright.errors import UsageError
from tilewright_graph.network.evaluate import evaluate
from tilewright_tensor.operators.operators import builtin_operators

RNG = np.random.default_rng(6)


def array(*shape: int) -> np.ndarray:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.fixture
def folded(make_model):
    """The constant that nodes on constants make."""

    def fold(nodes, constants, opset=13):
        network = read(make_model(nodes, {"x": (1,)}, constants, opset=opset))
        assert [one.operator for one in network.nodes] == ["identity"]
        (answer,) = evaluate(network, {"x": np.ones(1)}, builtin_operators()).values()
        return answer.astype(network.specs["y"].dtype)

    return fold


CASES = {
    **{
        f"batch norm of opset {opset}": (
            [node("BatchNormalization", ["c", "s", "b", "m", "v"], ["w"], epsilon=0.1)],
            {"c": array(2, 3, 4), "s": array(3), "b": array(3), "m": array(3), "v": array(3) ** 2},
            opset,
        )
        for opset in (7, 8, 9, 13, 15)
    },
    "quantised, and back": (
        [
            node("QuantizeLinear", ["c", "s", "z"], ["q"]),
            node("DequantizeLinear", ["q", "s", "z"], ["w"]),
        ],
        {
            # 0.35 / 0.1 is 3.5 in float32 alone
            "c": np.float32([0.35, -0.2, 1e10, -1e10, np.inf, -np.inf]),
            "s": np.float32(0.1),
            "z": np.uint8(7),
        },
        13,
    ),
    "pad less than nothing": (
        [node("Pad", ["c", "p"], ["w"])],
        {"c": array(4, 5), "p": ints(-1, 2, 1, -2)},
        13,
    ),
    "mean of ranks": ([node("Mean", ["c", "d"], ["w"])], {"c": array(3), "d": array(2, 3)}, 13),
    "squeeze": ([node("Squeeze", ["c"], ["w"], axes=[2, 0])], {"c": array(1, 3, 1)}, 11),
    "unsqueeze": ([node("Unsqueeze", ["c"], ["w"], axes=[3, 0])], {"c": array(2, 3)}, 11),
    "resize of opset 10": (
        [node("Resize", ["c", "scales"], ["w"])],
        {"c": array(1, 2, 3, 4), "scales": np.float32([1, 1, 2, 3])},
        10,
    ),
    "elements along a long axis": (
        [node("GatherElements", ["c", "i"], ["w"], axis=1)],
        {"c": array(2, 100, 3), "i": RNG.integers(-100, 100, (2, 100, 3))},
        13,
    ),
    "sums of no exponential": (
        [node("ReduceLogSumExp", ["c"], ["w"], axes=[1])],
        {"c": np.full((2, 3), -np.inf, np.float32)},
        13,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_constant_is_the_one_of_onnx_runtime(case, make_model, assert_agrees):
    nodes, constants, opset = CASES[case]
    nodes = [*nodes, node("Add", ["x", "w"], ["y"])]
    network = assert_agrees(make_model(nodes, {"x": (1,)}, constants, opset=opset))
    assert {one.operator for one in network.nodes} <= {"reshape", "add"}


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        (TensorProto.INT32, [2**31 - 1, -(2**31), 0, 2, -2]),
        (TensorProto.INT64, [2**63 - 1, -(2**63), 0, 2, -2]),
        (TensorProto.UINT8, [255, 0, 0, 2, 0]),
    ],
)
def test_a_float_that_no_integer_is_becomes_the_nearest(to, expected, folded):
    floats = np.float32([1e30, -np.inf, np.nan, 2.7, -2.7])
    assert folded([node("Cast", ["c"], ["y"], to=to)], {"c": floats}).tolist() == expected
    like = {"c": floats, "like": np.array(0, helper.tensor_dtype_to_np_dtype(to))}
    assert folded([node("CastLike", ["c", "like"], ["y"])], like, 15).tolist() == expected


def test_zero_points_of_rows_are_those_of_rows(folded):
    a, w = np.arange(1, 7, dtype=np.uint8).reshape(2, 3), np.arange(6, dtype=np.uint8).reshape(3, 2)
    nodes = [node("MatMulInteger", ["a", "w", "z"], ["y"])]
    found = folded(nodes, {"a": a, "w": w, "z": np.uint8([1, 2])})
    assert found.tolist() == ((a.astype(int) - [[1], [2]]) @ w).tolist()


def test_a_constant_that_dropout_draws_from_is_refused(make_model, folded):
    constants = {"c": array(2, 3), "ratio": np.float32(0.5), "training": np.array(True)}
    nodes = [node("Dropout", [*constants], ["y"], name="odd")]
    with pytest.raises(UsageError, match="node 'odd': Dropout in training mode"):
        read(make_model(nodes, {"x": (1,)}, constants))
    constants["training"] = np.array(False)
    np.testing.assert_array_equal(folded(nodes, constants), constants["c"])


def test_formats_that_no_tensor_of_ours_has_may_lie_between_constants(folded):
    nodes = [
        node("Cast", ["n"], ["z"], to=TensorProto.INT4),
        node("QuantizeLinear", ["c", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    constants = {"c": np.float32([0.4, -3.0]), "s": np.float32(0.5), "n": np.int8(0)}
    assert folded(nodes, constants, 21).tolist() == [0.5, -3.0]


def test_what_neither_way_can_do_is_told(make_model):
    constants = {"c": array(1, 1, 3, 4), "scales": np.float32([1, 1, 1.5, 1])}
    model = make_model(
        [node("Resize", [*constants], ["y"], name="odd")], {"x": (1,)}, constants, opset=10
    )
    with pytest.raises(UsageError, match="node 'odd': cannot evaluate 'Resize' on constants"):
        read(model)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("kind", ["ReduceSum", "ReduceMean", "ReduceL2"])
def test_sums_of_16_bits_are_added_up_in_float32(folded, kind, dtype):
    wide = np.float32(100 + 1000 * RNG.random((4096, 2)) * (kind == "ReduceMean"))
    narrow = wide.astype(dtype)
    given = narrow.astype(np.float64)
    expected = {
        "ReduceSum": given.sum(0),
        "ReduceMean": given.mean(0),
        "ReduceL2": np.sqrt((given**2).sum(0)),
    }[kind]
    axes = {} if kind == "ReduceSum" else {"axes": [0]}
    operands = {"c": narrow, **({"axes": ints(0)} if kind == "ReduceSum" else {})}
    nodes = [
        node(kind, list(operands), ["w"], keepdims=0, **axes),
        node("Cast", ["w"], ["y"], to=TensorProto.FLOAT),
    ]
    answer = folded(nodes, operands)
    if kind == "ReduceSum" and dtype == np.float16:
        assert np.isinf(answer).all()  # 409,600 is above what float16 holds
    else:
        np.testing.assert_allclose(answer, expected, rtol=2**-7)


def test_unique_elements_come_as_they_are_found_where_they_are_not_sorted(folded):
    answer = folded([node("Unique", ["c"], ["y"], sorted=0)], {"c": np.float32([2, 1, 1, 3])})
    assert answer.tolist() == [2, 1, 3]


def test_elements_are_gathered_along_an_axis_of_any_length(folded):
    data = array(100, 1)
    answer = folded(
        [node("GatherElements", ["c", "i"], ["y"], axis=0)],
        {"c": data, "i": np.zeros((100, 1), np.int64)},
    )
    np.testing.assert_array_equal(answer, np.repeat(data[:1], 100, axis=0))


@pytest.mark.parametrize("reduction", ["none", "add", "max"])
def test_elements_are_scattered_as_the_loop_over_them_says(folded, reduction):
    data, updates = array(5, 3), array(2, 3)
    indices = np.int64([[0, 4, -1], [0, 2, 1]])
    expected = data.copy()
    for place, at in np.ndenumerate(indices):
        known, given = expected[at, place[1]], updates[place]
        expected[at, place[1]] = {"none": given, "add": known + given, "max": max(known, given)}[
            reduction
        ]
    told = {} if reduction == "none" else {"reduction": reduction}
    nodes = [node("ScatterElements", ["c", "i", "u"], ["y"], axis=0, **told)]
    answer = folded(nodes, {"c": data, "i": indices, "u": updates}, 18)
    np.testing.assert_array_equal(answer, expected)
