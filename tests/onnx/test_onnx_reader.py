"""Whole models: values known at reading time, names, dynamic dimensions, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import node, read, relu_model

from tilewright.errors import UsageError
from tilewright_graph.network.evaluate import evaluate
from tilewright_tensor.operators.operators import builtin_operators

# --- what is known when the model is read -----------------------------------------------------------------------------


def test_a_shape_computed_from_the_input_is_known(make_model, assert_agrees):
    nodes = [
        node("Shape", ["x"], ["all"]),
        node("Gather", ["all", "zero"], ["batch"]),
        node("Unsqueeze", ["batch", "axis"], ["row"]),
        node("Concat", ["row", "rest"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["y"]),
    ]
    constants = {
        "zero": np.array(0, np.int64),
        "axis": np.array([0], np.int64),
        "rest": np.array([-1], np.int64),
    }
    network = assert_agrees(make_model(nodes, {"x": (2, 3, 5)}, constants))
    assert [n.operator for n in network.nodes] == ["reshape"]


def test_weights_made_by_nodes_are_known(make_model, assert_agrees):
    nodes = [
        node(
            "ConstantOfShape",
            ["s"],
            ["c"],
            value=numpy_helper.from_array(np.array([0.25], np.float32)),
        ),
        node("Unsqueeze", ["c", "axes"], ["w"]),
        node("Constant", [], ["b"], value=numpy_helper.from_array(np.float32([[1, 2, 3]]))),
        node("Mul", ["x", "w"], ["m"]),
        node("Add", ["m", "b"], ["y"]),
    ]
    constants = {"s": np.array([3], np.int64), "axes": np.array([0], np.int64)}
    network = assert_agrees(make_model(nodes, {"x": (2, 3)}, constants))
    assert [n.operator for n in network.nodes] == ["multiply", "add"]


def test_an_initializer_listed_as_input_is_a_constant(make_model):
    model = make_model(
        [node("Add", ["x", "w"], ["y"])], {"x": (2, 3), "w": (3,)}, {"w": np.ones(3, np.float32)}
    )
    network = read(model)
    assert network.inputs == ("x",)


def test_names_made_while_reading_are_none_of_the_models(make_model, assert_agrees):
    """Readers name what they add after the node: `fc_constant`, `conv_conv2d`."""
    random = np.random.default_rng(3).standard_normal
    gemm = [
        node("Gemm", ["x", "w"], ["g"], name="fc", transB=1),
        node("Add", ["g", "fc_constant"], ["y"]),
    ]
    conv = [
        node("Conv", ["x", "w", "b"], ["c"], name="conv"),
        node("Mul", ["c", "conv_conv2d"], ["y"]),
    ]
    assert_agrees(
        make_model(
            gemm, {"x": (2, 3)}, {"w": floats(random((5, 3))), "fc_constant": floats(random(5))}
        )
    )
    constants = {"w": random((4, 3, 1, 1)), "b": random(4), "conv_conv2d": random((4, 1, 1))}
    constants = {name: floats(array) for name, array in constants.items()}
    assert_agrees(make_model(conv, {"x": (1, 3, 4, 4)}, constants))


def test_quantised_weights_of_an_early_opset_are_made_floats_when_read(assert_agrees, make_model):
    """ONNX's reference evaluates DequantizeLinear from opset 19 on only."""
    constants = {
        "q": np.arange(-128, 127, 22, np.int8).reshape(4, 3, 1, 1),
        "s": np.float32([0.01, 0.1, 0.003, 0.5]),
        "z": np.zeros(4, np.int8),
    }
    nodes = [
        node("DequantizeLinear", ["q", "s", "z"], ["w"], axis=0),
        node("Conv", ["x", "w"], ["y"]),
    ]
    network = assert_agrees(make_model(nodes, {"x": (1, 3, 4, 4)}, constants, opset=13))
    assert [one.operator for one in network.nodes] == ["conv2d"]


def floats(array):
    return np.asarray(array, np.float32)


def test_the_input_of_a_last_softmax_stays_observed(make_model):
    nodes = [node("Relu", ["x"], ["logits"]), node("Softmax", ["logits"], ["y"])]
    assert read(make_model(nodes, {"x": (1, 3)})).observed == ("logits",)


def test_the_input_of_two_last_softmaxes_is_observed_once(make_model):
    nodes = [node("Relu", ["x"], ["logits"])]
    nodes += [node("Softmax", ["logits"], [name], axis=axis) for axis, name in enumerate("yz")]
    assert read(make_model(nodes, {"x": (2, 3)}, outputs="yz")).observed == ("logits",)


def test_a_softmax_inside_is_not_observed(make_model):
    nodes = [node("Softmax", ["x"], ["p"]), node("Relu", ["p"], ["y"])]
    assert read(make_model(nodes, {"x": (1, 3)})).observed == ()


def test_an_output_that_depends_on_no_input_is_a_kernel(make_model, assert_agrees):
    nodes = [node("Relu", ["x"], ["y"]), node("Neg", ["c"], ["z"])]
    model = make_model(nodes, {"x": (1, 3)}, {"c": np.float32([1, 2])}, outputs=("y", "z"))
    assert assert_agrees(model).outputs == ("y", "z")


def test_outputs_keep_their_names_and_order(make_model):
    nodes = [node("Relu", ["x"], ["b"]), node("Sigmoid", ["x"], ["a"])]
    assert read(make_model(nodes, {"x": (1, 3)}, outputs=("b", "a"))).outputs == ("b", "a")


def doubling(make_model, times):
    """A weight in a node, joined with itself again and again."""
    weight = numpy_helper.from_array(np.ones(4096, np.float32))
    nodes = [node("Constant", [], ["c0"], value=weight)]
    nodes += [node("Concat", [f"c{n}"] * 2, [f"c{n + 1}"], axis=0) for n in range(times)]
    return make_model([*nodes, node("Add", ["x", f"c{times}"], ["y"])], {"x": (1,)})


def test_what_is_evaluated_is_bounded_by_the_size_of_the_model(make_model, monkeypatch):
    monkeypatch.setattr("tilewright_onnx.model.reading_budget._FREE_BYTES", 0)
    assert read(doubling(make_model, 3)).specs["y"].shape == (4096 * 8,)
    with pytest.raises(UsageError, match=r"'Concat_4': Concat needs a constant of shape \[65536\]"):
        read(doubling(make_model, 6))


# --- dynamic dimensions ---------------------------------------------------------------------------------------------


def test_a_dynamic_dimension_takes_the_size_given(make_model):
    network = read(relu_model(make_model, ("batch", 3)), {"x": (5, 3)})
    assert network.specs["y"].shape == (5, 3)


def test_a_dynamic_dimension_without_a_size_names_input_dimension_and_remedy(make_model):
    with pytest.raises(
        UsageError,
        match=r"model: input 'x': dimension 0 \(batch\) is dynamic\n"
        r".*--set 'import.shapes={\"x\": \[1, 3\]}'; in a file .*; in Python compile\(",
    ):
        read(relu_model(make_model, ("batch", 3)))


def test_a_size_that_contradicts_a_fixed_dimension_is_refused(make_model):
    with pytest.raises(UsageError, match=r"input 'x' is \['batch', 3\], got \[5, 4\]"):
        read(relu_model(make_model, ("batch", 3)), {"x": (5, 4)})


def test_shapes_of_an_input_that_is_not_there_are_told_with_the_inputs_that_are(make_model):
    with pytest.raises(
        UsageError,
        match=r"input 'x': dimension 0 \(batch\) is dynamic, and shapes names 'X'; the inputs are 'x'",
    ):
        read(relu_model(make_model, ("batch", 3)), {"X": (5, 3)})


@pytest.mark.parametrize("size", [0, -1])
def test_a_size_that_is_none_is_refused_with_a_remedy(make_model, size):
    with pytest.raises(
        UsageError, match=rf"'x' was given \[{size}, 3\]\n  every size is a whole number from 1"
    ):
        read(relu_model(make_model, ("batch", 3)), {"x": (size, 3)})


def test_a_model_that_does_not_say_its_opset_is_refused(make_model):
    model = relu_model(make_model)
    model.opset_import[0].domain = "own"
    with pytest.raises(UsageError, match="of which opset ONNX's own operators are"):
        read(model)


# --- bad models -----------------------------------------------------------------------------------------------------


def test_an_unknown_operator_is_named_with_its_node(make_model):
    model = make_model([node("NonZero", ["x", "w"], ["y"], name="odd")], {"x": (1, 3), "w": (1, 3)})
    with pytest.raises(
        UsageError, match="model: node 'odd': no reader for the ONNX operator 'NonZero'"
    ):
        read(model)


def test_what_makes_any_number_of_results_says_where_a_model_may_end_instead(make_model):
    with pytest.raises(
        UsageError, match=r"(?s)'NonZero'.*every shape is fixed: end the model at the tensors"
    ):
        read(make_model([node("NonZero", ["x"], ["y"])], {"x": (1, 6)}))


def test_an_output_that_nothing_makes_of_a_node_is_named(make_model):
    pool = node("MaxPool", ["x"], ["y", "i"], name="pool", kernel_shape=[2, 2])
    model = make_model([pool], {"x": (1, 2, 4, 4)}, outputs=("y", "i"))
    with pytest.raises(UsageError, match=r"node 'pool': output 1 \('i'\) of MaxPool is not supp"):
        read(model)


def test_an_operand_that_is_left_out_asks_for_no_output(make_model):
    nodes = [
        node("Dropout", ["x"], ["a", ""]),
        node("Clip", ["a", "", "six"], ["y"]),
    ]
    read(make_model(nodes, {"x": (2, 3)}, {"six": np.float32(6)}))


@pytest.mark.parametrize(
    ("sizes", "says"), [([3, 1], "sum of 'split' \\(4\\)"), ([3, 1, 3], "number of splits \\(3\\)")]
)
def test_sizes_that_are_no_split_of_the_axis_are_refused(make_model, sizes, says):
    split = node("Split", ["x", "sizes"], ["y", "z"], name="odd")
    model = make_model([split], {"x": (7, 3)}, {"sizes": np.array(sizes)}, outputs=("y", "z"))
    with pytest.raises(UsageError, match=f"node 'odd': Split: Mismatch between .*{says}"):
        read(model)


def test_what_is_random_is_refused(make_model):
    nodes = [
        node("RandomNormal", [], ["r"], name="odd", shape=[2, 3]),
        node("Add", ["x", "r"], "y"),
    ]
    with pytest.raises(
        UsageError, match="node 'odd': RandomNormal draws other values in every run"
    ):
        read(make_model(nodes, {"x": (2, 3)}))


def test_dropout_in_training_is_refused(make_model):
    constants = {"ratio": np.float32(0.5), "training": np.array(True)}
    nodes = [node("Dropout", ["x", *constants], ["y"], name="odd")]
    with pytest.raises(UsageError, match="node 'odd': Dropout in training mode"):
        read(make_model(nodes, {"x": (2, 3)}, constants))


def test_an_operator_of_another_domain_is_named_with_it(make_model):
    model = make_model([node("Relu", ["x"], ["y"], name="odd", domain="acme")], {"x": (1, 3)})
    with pytest.raises(
        UsageError, match=r"node 'odd': no reader for the ONNX operator 'acme.Relu'"
    ):
        read(model)


def test_an_operand_that_must_be_known_is_named(make_model):
    nodes = [node("Cast", ["s"], ["t"], to=TensorProto.INT64)]
    nodes += [node("Reshape", ["x", "t"], ["y"], name="r")]
    model = make_model(nodes, {"x": (1, 3), "s": (2,)})
    with pytest.raises(UsageError, match=r"node 'r': operand 1 .* is computed"):
        read(model)


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
def test_constants_keep_the_meaning_of_their_opset(make_model, assert_agrees, operator):
    """Before opset 13 all axes from one on are one."""
    constant = floats(np.random.default_rng(3).standard_normal((2, 3, 4)))
    nodes = [node(operator, ["w"], ["p"], axis=1), node("Add", ["x", "p"], ["y"])]
    assert_agrees(make_model(nodes, {"x": (2, 3, 4)}, {"w": constant}, opset=11))


def test_a_model_of_before_opset_7_is_refused(make_model):
    """Its operands are broadcast by attributes that later ones do not have."""
    old = node("Add", ["x", "b"], ["y"], broadcast=1, axis=1)
    model = make_model([old], {"x": (1, 4, 4, 4)}, {"b": np.ones(4, np.float32)}, opset=6)
    with pytest.raises(UsageError, match=r"opset 6; expected 7 or later\n.*convert_version"):
        read(model)


@pytest.mark.parametrize(
    ("operator", "attributes", "bounds", "expected"),
    [
        ("Clip", {}, [0, 2**63 - 1], [0, 7, 2**62 + 1]),
        ("Clip", {}, [0, 2**53 + 1], [0, 7, 2**53 + 1]),
        ("Pad", {}, [[0, 1], 2**53 + 1], [-5, 7, 2**62 + 1, 2**53 + 1]),
        ("ReduceMax", {"keepdims": 0}, [[0]], 2**62 + 1),
    ],
)
def test_large_whole_numbers_stay_what_they_are(make_model, operator, attributes, bounds, expected):
    names = [f"bound{n}" for n in range(len(bounds))]
    constants = {name: np.array(b, np.int64) for name, b in zip(names, bounds, strict=True)}
    nodes = [node(operator, ["x", *names], ["y"], **attributes)]
    model = make_model(nodes, {"x": (3,)}, constants, opset=18)
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    network = read(model)
    values = {"x": np.array([-5, 7, 2**62 + 1])}
    (got,) = evaluate(network, values, builtin_operators()).values()
    assert got.dtype == np.int64
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("exponent", [np.int32(1), np.int32(5), np.int64([[64]]), np.float32(2)])
def test_powers_of_whole_numbers_wrap(make_model, exponent):
    model = make_model([node("Pow", ["x", "e"], ["y"])], {"x": (4,)}, {"e": exponent})
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.INT32
    numbers = np.array([3, -2, 100_003, -(2**31)], np.int32)
    (got,) = evaluate(read(model), {"x": numbers}, builtin_operators()).values()
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got.ravel(), np.power(numbers, np.int32(exponent.item())))


@pytest.mark.parametrize("factors", [{"alpha": 0.5}, {"beta": 1.5}, {"alpha": 2.0**31}])
def test_a_factor_that_is_no_whole_number_is_refused_where_those_are_multiplied(
    make_model, factors
):
    constants = {"w": np.ones((3, 4), np.int32), "b": np.ones(4, np.int32)}
    nodes = [node("Gemm", ["x", *constants], ["y"], name="odd", **factors)]
    model = make_model(nodes, {"x": (2, 3)}, constants)
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.INT32
    problem = "node 'odd': Gemm of int32 computes with .*, which is none\n.*cast what it reads"
    with pytest.raises(UsageError, match=problem):
        read(model)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (helper.make_tensor_type_proto(TensorProto.COMPLEX64, [3]), "tensor 'x' is complex64"),
        (helper.make_tensor_type_proto(TensorProto.STRING, [3]), "tensor 'x' is object"),
        (
            helper.make_tensor_type_proto(TensorProto.FLOAT, None),
            "input 'x' has no shape\n.*shapes",
        ),
        (
            helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [3])),
            "input 'x' is a sequence_type; expected a tensor",
        ),
    ],
)
def test_inputs_that_no_network_can_have_are_named(make_model, kind, problem):
    model = relu_model(make_model)
    model.graph.input[0].type.CopyFrom(kind)
    with pytest.raises(UsageError, match=problem):
        read(model)


def test_a_cast_to_what_no_tensor_holds_is_named(make_model):
    model = make_model(
        [node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E4M3FN)], {"x": (3,)}, opset=19
    )
    with pytest.raises(UsageError, match=r"expected one of bool, int8.*'float8_e4m3fn'"):
        read(model)
