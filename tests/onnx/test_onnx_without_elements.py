"""Tensors with an extent of 0, outputs that are inputs or constants, and division of whole numbers."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, numpy_helper

import tilewright
from tilewright.errors import UsageError
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_onnx.model.writer import write_model
from tilewright_onnx.reader import read_model

pytestmark = pytest.mark.needs("x86")
node = helper.make_node


def tensors(given: dict[str, np.ndarray]):
    return [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in given.items()
    ]


def answers(nodes, inputs, outputs, constants=None, opset=18):
    """What the compiled network gives, and what ONNX Runtime does, both by name."""
    onnxruntime = pytest.importorskip("onnxruntime")
    graph = helper.make_graph(
        nodes, "graph", tensors(inputs), [helper.make_empty_tensor_value_info(o) for o in outputs],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )  # fmt: skip
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8
    ).SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    expected = dict(zip(outputs, session.run(outputs, inputs), strict=True))
    return tilewright.compile(model, target="x86:threads=1"), expected


def check(compiled, expected, inputs):
    found = compiled.run(inputs)
    assert list(found) == list(expected)
    for name, answer in expected.items():
        assert (found[name].dtype, found[name].shape) == (answer.dtype, answer.shape)
        np.testing.assert_array_equal(found[name], answer)


SOME = np.arange(6, dtype=np.float32).reshape(2, 3)
NONE = np.zeros((0, 3), np.float32)
EMPTY = {
    "an input that is joined": ([node("Concat", ["x", "e"], ["y"], axis=0)], {}),
    "a sum over nothing": ([node("ReduceSum", ["e", "first"], ["y"])], {"first": np.array([0])}),
    "a slice of nothing": (
        [node("Slice", ["x", "two", "two"], ["s"]), node("Exp", ["s"], ["y"])],
        {"two": np.array([2])},
    ),
    "a product over nothing, added to": (
        [node("MatMul", ["t", "e"], ["p"]), node("Add", ["p", "x"], ["y"])],
        {"t": np.zeros((2, 0), np.float32)},
    ),
    "what broadcasts to nothing": ([node("Add", ["e", "row"], ["y"])], {"row": SOME[:1]}),
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_tensor_without_elements_is_read(name: str) -> None:
    nodes, constants = EMPTY[name]
    inputs = {"x": SOME, "e": NONE}
    check(*answers(nodes, inputs, ["y"], constants), inputs)


def test_outputs_may_be_inputs_and_constants(tmp_path) -> None:
    nodes = [node("Relu", ["x"], ["y"]), node("Constant", [], ["c"], value_floats=[1.0, 2.0])]
    inputs = {"x": -SOME, "e": NONE}
    compiled, expected = answers(nodes, inputs, ["x", "y", "c", "e"])
    check(compiled, expected, inputs)
    compiled.save(tmp_path / "network")
    check(CompiledNetwork.load(tmp_path / "network"), expected, inputs)


def test_a_constant_may_be_an_output_and_an_operand(tmp_path) -> None:
    nodes = [
        node("Constant", [], ["c"], value_floats=[1.0, 2.0, 3.0]),
        node("Add", ["x", "c"], ["s"]),
        node("Mul", ["s", "c"], ["y"]),
    ]
    inputs = {"x": SOME}
    compiled, expected = answers(nodes, inputs, ["y", "c"])
    check(compiled, expected, inputs)


def test_an_answer_that_is_an_input_is_not_the_array_given() -> None:
    compiled, _ = answers([node("Relu", ["x"], ["y"])], {"x": SOME}, ["x", "y"])
    given = SOME.copy()
    compiled.run({"x": given})["x"][:] = 7
    np.testing.assert_array_equal(given, SOME)


def test_whole_numbers_are_divided_as_onnx_runtime_does_it() -> None:
    inputs = {
        "a": np.array([-7, 7, -7, 7, -(2**31)], np.int32),
        "b": np.array([2, -2, -2, 2, 3], np.int32),
    }
    nodes = [
        node("Div", ["a", "b"], ["quotient"]),
        node("Mod", ["a", "b"], ["floored"]),
        node("Mod", ["a", "b"], ["cut"], fmod=1),
    ]
    check(*answers(nodes, inputs, ["quotient", "floored", "cut"]), inputs)


def test_an_operand_without_elements_that_an_operator_cannot_do_without_is_refused() -> None:
    builder = NetworkBuilder("net")
    empty = builder.input("e", (0, 3))
    with pytest.raises(UsageError, match="reduce_sum of 'e', which has no elements"):
        builder.reduce_sum(empty)


def float16_network(make_model, layers: int = 6):
    rng = np.random.default_rng(3)
    weights = {
        f"w{i}": (rng.standard_normal((64, 64)) / 8).astype(np.float16) for i in range(layers)
    }
    names = ["h", *(f"t{i}" for i in range(layers))]
    nodes = [node("Cast", ["x"], ["h"], to=10)]
    nodes += [node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(layers)]
    nodes.append(node("Cast", [names[-1]], ["y"], to=1))
    return read_model(make_model(nodes, {"x": (3, 64)}, weights), NetworkBuilder("half"), {})


def test_a_float16_network_passes_by_default_and_a_float32_one_is_held_to_more(
    make_model, compiled_on_x86, verified_on_x86
) -> None:
    half = float16_network(make_model)
    single = read_model(
        make_model([node("Exp", ["x"], ["y"])], {"x": (3, 64)}), NetworkBuilder("single"), {}
    )
    verdicts = [verified_on_x86(compiled_on_x86(one), one, None) for one in (half, single)]
    assert [(one.ok, one.report["verify"]["rtol"]) for one in verdicts] == [
        (True, 1e-2),
        (True, 1e-4),
    ]
    assert verdicts[0].report["verify"]["max_rel_error"] > 1e-4


def test_margins_of_a_mask_are_true_or_false() -> None:
    inputs = {"x": SOME > 2}
    constants = {"p": np.array([0, 1, 1, 0]), "v": np.array(True)}
    compiled, expected = answers([node("Pad", ["x", "p", "v"], ["y"])], inputs, ["y"], constants)
    check(compiled, expected, inputs)


@pytest.mark.parametrize("zero", [np.array(3, np.uint8), np.array([3], np.uint8)])
def test_zero_points_may_be_computed_and_operands_of_any_rank(zero) -> None:
    inputs = {"a": np.arange(24, dtype=np.uint8).reshape(3, 2, 4), "z": zero}
    weights = np.arange(-10, 10, dtype=np.int8).reshape(4, 5)
    nodes = [node("MatMulInteger", ["a", "w", "z"], ["y"])]
    compiled, expected = answers(nodes, inputs, ["y"], {"w": weights})
    check(compiled, expected, inputs)
    del inputs["z"]
    compiled, expected = answers(nodes, inputs, ["y"], {"w": weights, "z": zero})
    check(compiled, expected, inputs)


def test_bounds_of_whole_numbers_are_written_as_whole_numbers() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    b = NetworkBuilder("bounds")
    numbers = np.arange(-128, 128, dtype=np.int8)
    network = b.network([b.clip(b.input("x", (256,), "int8"), min=0.5, max=255.0)])
    model = write_model(network).SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {"x": numbers})[0], numbers.clip(1, 127))
