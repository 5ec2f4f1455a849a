"""NonMaxSuppression at the end of a model: exactly the rows that ONNX Runtime gives."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from backend_suite import cases
from onnx import TensorProto, helper, numpy_helper
from onnx_models import node, read

from tilewright.errors import UsageError
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.verification.own_rows import with_own_rows
from tilewright_graph.verification.verification import compare
from tilewright_tensor.operators.operators import builtin_operators

SHAPES = {"b": (2, 37, 4), "s": (2, 3, 37)}


def detector(make_model, *behind, outputs=("y",), most=7, overlap=0.3, threshold=0.9):
    """Boxes and scores that are computed, and what is kept of them."""
    limits = {
        "most": np.array([most]),
        "overlap": np.float32([overlap]),
        "threshold": np.float32([threshold]),
    }
    nodes = [
        node("Relu", ["b"], ["boxes"]),
        node("Tanh", ["s"], ["scores"]),
        node("NonMaxSuppression", ["boxes", "scores", *limits], ["y"], name="kept"),
        *behind,
    ]
    return rows_first(make_model(nodes, SHAPES, limits, outputs=outputs))


def rows_first(model):
    """The model with whole numbers as its one output."""
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    return model


def drawn(seed=3):
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(-1, 2, shape).astype(np.float32) for name, shape in SHAPES.items()}


@pytest.mark.parametrize(
    "limits",
    [{}, {"threshold": 2.0}, {"most": 2**63 - 1}, {"most": 0}, {"overlap": 0.0}, {"overlap": 1.0}],
    ids=str,
)
def test_its_rows_are_those_of_onnx_runtime(limits, make_model, compiled_on_x86, oracle):
    network = read(detector(make_model, **limits))
    with compiled_on_x86(network) as compiled:
        for seed in (3, 4):
            (expected,) = oracle.run(network.source, drawn(seed), ()).values()
            (found,) = compiled.run(drawn(seed)).values()
            assert found.dtype == np.int64
            np.testing.assert_array_equal(found, expected)
    (evaluated,) = [evaluate(network, drawn(seed), builtin_operators())["y"]]
    np.testing.assert_array_equal(evaluated, expected)


def test_operands_that_are_left_out_have_onnxs_defaults(make_model):
    most, shapes = {"most": np.array(9)}, {"b": (1, 6, 4), "s": (1, 2, 6)}
    for given in (["most"], ["most", "", ""]):
        nodes = [node("NonMaxSuppression", ["b", "s", *given], ["y"], center_point_box=1)]
        network = read(rows_first(make_model(nodes, shapes, most)))
        kept = network.producers["y"].attributes
        assert (kept["max_boxes"], kept["iou_threshold"], kept["centered"]) == (6, 0.0, True)
        assert kept["score_threshold"] is None
    none = read(rows_first(make_model([node("NonMaxSuppression", ["b", "s"], ["y"])], shapes)))
    assert none.specs["y"].shape == (0, 3)


def test_a_saved_network_cuts_its_rows_too(make_model, compiled_on_x86, host, tmp_path):
    network = read(detector(make_model))
    with compiled_on_x86(network) as compiled:
        compiled.save(tmp_path / "saved")
        (expected,) = compiled.run(drawn()).values()
        with copy.copy(compiled) as other:
            np.testing.assert_array_equal(other.run(drawn())["y"], expected)
    with CompiledNetwork.load(tmp_path / "saved", host) as loaded:
        np.testing.assert_array_equal(loaded.run(drawn())["y"], expected)
    assert 0 < len(expected) < network.specs["y"].shape[0]


def test_the_written_model_says_that_values_decide_how_many_rows_there_are(
    make_model, assert_agrees
):
    network = assert_agrees(detector(make_model))
    assert network.specs["y"].shape == (2 * 3 * 7, 3)


@pytest.mark.parametrize("kind", ["Cast", "Shape", "Gather"])
def test_what_reads_its_rows_is_told_where_the_model_may_end(kind, make_model):
    behind = {
        "Cast": node("Cast", ["y"], ["z"], to=6),
        "Shape": node("Shape", ["y"], ["z"]),
        "Gather": node("Gather", ["b", "y"], ["z"]),
    }[kind]
    with pytest.raises(
        UsageError,
        match=rf"{kind} reads 'y', of which values decide how many rows .*fixed\n.*end the model at 'y'",
    ):
        read(detector(make_model, behind, outputs=("z",)))


def test_a_number_of_boxes_that_is_computed_is_refused(make_model):
    nodes = [node("NonMaxSuppression", ["b", "s", "x"], ["y"], name="kept")]
    model = rows_first(make_model(nodes, {"b": (1, 6, 4), "s": (1, 2, 6)}))
    model.graph.input.append(helper.make_tensor_value_info("x", TensorProto.INT64, [1]))
    with pytest.raises(UsageError, match=r"'kept': operand 2 \('x'\) is computed; expected a con"):
        read(model)


def test_a_box_that_rounding_exchanges_is_no_error(make_model, compiled_on_x86, verified_on_x86):
    """What is read is compared with the oracle, the rows with what belongs to what was read."""
    network = read(detector(make_model))
    assert network.observed == ("boxes", "scores")
    operators, inputs = builtin_operators(), drawn()
    answers = evaluate(network, inputs, operators)
    with compiled_on_x86(network) as compiled:
        assert verified_on_x86(compiled, network, 1e-4).ok
        ours = compiled.observe(inputs)
    moved = {**answers, "y": answers["y"][::-1]}
    expected = with_own_rows(network, inputs, ours, moved, operators)
    assert compare(ours, expected).max_rel_error < 1e-5
    wrong = {**ours, "y": ours["y"][::-1]}
    assert compare(wrong, with_own_rows(network, inputs, ours, moved, operators)).worst == "y"


NAMES = [name for name in cases() if name.startswith("test_nonmaxsuppression")]


def test_the_cases_of_the_onnx_package_are_there():
    assert len(NAMES) >= 9


@pytest.mark.parametrize("name", NAMES)
def test_a_case_of_the_onnx_package_is_right_with_its_limits_known(name, compiled_on_x86):
    case = cases()[name]
    model = copy.deepcopy(case.model)
    for given, expected in case.data_sets:
        known = dict(zip((value.name for value in model.graph.input), given, strict=True))
        data = {value.name: known.pop(value.name) for value in model.graph.input[:2]}
        del model.graph.input[2:]
        model.graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in known.items())
        with compiled_on_x86(read(model)) as compiled:
            (rows,) = compiled.run(data).values()
        np.testing.assert_array_equal(rows, expected[0])
