"""Epilogues that end in whole numbers: what they may be, and which of their answers are right."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright_measure.timing.answer import Case
from tilewright_measure.worker.failures import RefusedError

pytestmark = pytest.mark.needs("measure")

TO_BYTES = "round() + add(1x1:const) + clip(min=0, max=255) + cast(dtype=uint8)"
TASKS = (
    f"dense(6x37, 11x37) + multiply(1x11:const) + {TO_BYTES}",
    f"dense(6x37, 11x37) + add(1x11:const) + divide(1x11:const) + add(1x1:const) + {TO_BYTES}",
    f"matmul_integer(6x37:uint8, 37x11:int8) + cast(dtype=float32) + multiply(1x11:const) + {TO_BYTES}",
    f"softmax(6x11) + divide(1x1:const) + {TO_BYTES}",
    f"divide(6x11, 1x11) + {TO_BYTES}",
    "dense(6x37, 11x37) + multiply(1x11:const) + round()",
)


def case(references, text):
    name, parenthesis, rest = text.partition("(")
    reference = references[name]
    workload = reference.parse(parenthesis + rest, "")
    inputs = reference.inputs(workload, seed=0)
    return Case(workload, reference, inputs, reference.outputs(workload, inputs), "float32")


def is_right(made: Case, got) -> bool:
    try:
        made.check(0, "NC", got)
    except RefusedError:
        return False
    return True


@pytest.mark.parametrize("text", TASKS)
def test_a_neighbour_is_right_and_two_units_zeros_and_swapped_columns_are_wrong(references, text):
    made = case(references, text)
    (right,) = made.outputs
    assert float(np.abs(right.astype(float)).max()) >= 20
    inner = np.argwhere(right == right.max() if right.dtype.kind == "f" else right > 2)[0]
    near, far = right.copy(), right.copy()
    near[tuple(inner)] -= 1
    far[tuple(inner)] -= 2
    assert is_right(made, right)
    assert is_right(made, near)
    assert not is_right(made, far)
    assert not is_right(made, np.zeros_like(right))
    assert not is_right(made, right[:, ::-1].copy())


@pytest.mark.parametrize("text", TASKS[:3])
def test_an_answer_without_a_term_is_wrong(references, text):
    made = case(references, text)
    data, *others = made.inputs
    dropped = data.copy()
    dropped[:, 5] = 0
    (wrong,) = made.reference.outputs(made.workload, [dropped, *others])
    assert not is_right(made, wrong)


def test_whole_numbers_that_no_float_was_rounded_to_agree_exactly(references):
    made = case(references, "matmul_integer(6x37:uint8, 37x11:int8) + cast(dtype=float32)")
    (right,) = made.outputs
    near = right.copy()
    near.flat[np.abs(right).argmin()] += 1
    assert is_right(made, right)
    assert not is_right(made, near)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("dense(6x37, 11x37) + relu() + round()", "round in the epilogue rounds a value"),
        ("dense(6x37, 11x37) + cast(dtype=int8)", "cast in the epilogue rounds a value"),
        ("dense(6x37, 11x37) + cast(dtype=bool)", "which jumps at 0"),
        ("matmul_integer(3x4:int8, 4x5:int8) + cast(dtype=bool)", "which jumps at 0"),
        (
            "dense(6x37, 11x37) + multiply(1x11) + sigmoid() + round()",
            "round in the epilogue rounds a value",
        ),
        (
            "dense(6x37, 11x37) + multiply(1x11) + round() + multiply(1x11)",
            "multiply in the epilogue does not keep a unit",
        ),
        (
            "dense(6x37, 11x37) + multiply(1x11) + cast(dtype=int32) + cast(dtype=int8)",
            "cast in the epilogue does not keep a unit",
        ),
    ],
)
def test_other_orders_are_refused_with_the_reason(references, text, reason):
    with pytest.raises(UsageError, match=reason) as error:
        case(references, text)
    assert "multiply or divide, add, round, clip and cast in this order" in str(error.value)
