"""`non_max_suppression` keeps what ONNX Runtime keeps, in its order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from suppression_cases import FEW, MANY, Case, drawn, workload_of

from tilewright.errors import UsageError
from tilewright.vocabulary.workload import Workload
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.lowering.verify import verify
from tilewright_tensor.operators.operators import Operators


@pytest.mark.parametrize("case", FEW, ids=str)
def test_its_loops_are_well_formed_and_give_what_the_reference_gives(
    case: Case, operators: Operators
) -> None:
    work, inputs = workload_of(case, operators), drawn(case)
    make = operators["non_max_suppression"].program
    assert make is not None
    program = make(work.inputs, work.attributes)
    assert verify(program) == []
    (rows,) = interpret(program, inputs)
    np.testing.assert_array_equal(rows, operators.evaluate(work, inputs))


def kept_by_onnxruntime(case: Case, inputs: list[Any]) -> Any:
    onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    given = {
        "most": np.array([case.most]),
        "overlap": np.float32([case.overlap]),
        **({} if case.threshold is None else {"threshold": np.float32([case.threshold])}),
    }
    graph = helper.make_graph(
        [
            helper.make_node(
                "NonMaxSuppression",
                ["boxes", "scores", *given],
                ["rows"],
                center_point_box=int(case.centered),
            )
        ],
        "one",
        [
            helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, array.shape)
            for name, array in zip(("boxes", "scores"), inputs, strict=True)
        ],
        [helper.make_tensor_value_info("rows", onnx.TensorProto.INT64, [None, 3])],
        [numpy_helper.from_array(array, name) for name, array in given.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (rows,) = session.run(None, dict(zip(("boxes", "scores"), inputs, strict=True)))
    return rows


@pytest.mark.parametrize("case", FEW + MANY, ids=str)
def test_the_reference_keeps_what_onnx_runtime_keeps(case: Case, operators: Operators) -> None:
    inputs = drawn(case)
    rows = operators.evaluate(workload_of(case, operators), inputs)
    expected = kept_by_onnxruntime(case, inputs)
    np.testing.assert_array_equal(rows[: len(expected)], expected)
    assert (rows[len(expected) :] == -1).all()


def test_of_the_cases_some_keep_nothing_and_some_keep_all(operators: Operators) -> None:
    shares = [
        float((operators.evaluate(workload_of(case, operators), drawn(case))[:, 0] >= 0).mean())
        for case in FEW
    ]
    assert min(shares) == 0.0
    assert max(shares) == 1.0
    assert any(0.0 < share < 1.0 for share in shares)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("(1x7x4, 1x2x6, max_boxes=3)", r"expected scores \[1, classes, 7\], got \[1, 2, 6\]"),
        ("(1x7x5, 1x2x7, max_boxes=3)", r"expected boxes \[batch, boxes, 4\], got \[1, 7, 5\]"),
        ("(1x7x4:float64, 1x2x7, max_boxes=3)", "expected float32, got float64 and float32"),
        ("(1x7x4, 1x2x7, max_boxes=-1)", "max_boxes is -1, expected 0 or more"),
        ("(1x7x4, 1x2x7, max_boxes=3, iou_threshold=1.5)", "iou_threshold is 1.5, expected 0 to 1"),
        ("(1x7x4, 1x2x7, max_boxes=3) + neg()", "is a program: it has no epilogue"),
    ],
)
def test_it_says_what_does_not_fit(
    text: str, problem: str, workload: Callable[[str], Workload]
) -> None:
    with pytest.raises(UsageError, match=problem):
        workload(f"non_max_suppression{text}")


@pytest.mark.parametrize("wrong", [{"reference": None}, {"elementwise": True}])
def test_a_program_has_a_reference_and_no_traits(
    wrong: dict[str, Any], operators: Operators
) -> None:
    with pytest.raises(UsageError, match="cannot be a program: one has a reference, and no traits"):
        replace(operators["non_max_suppression"], **wrong)
