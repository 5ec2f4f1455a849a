"""Comparisons, logic, choices and places of extremes against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper


def condition(kind: str, shapes, before: str = "Identity", **attributes):
    """A model of a node that gives no floats, and their cast; its first operand is made by one."""
    operands = "abc"[: len(shapes)]
    nodes = [
        helper.make_node(before, ["a"], ["first"]),
        helper.make_node(kind, ["first", *operands[1:]], ["found"], **attributes),
        helper.make_node("Cast", ["found"], ["y"], to=TensorProto.FLOAT),
    ]
    return nodes, dict(zip(operands, shapes, strict=True)), {}


def undefined():
    """A model that says which of its operands are negative: those it makes no number of."""
    nodes = [
        helper.make_node("Less", ["a", "zero"], ["p"]),
        helper.make_node("Where", ["p", "nan", "a"], ["b"]),
        helper.make_node("IsNaN", ["b"], ["c"]),
        helper.make_node("Cast", ["c"], ["y"], to=TensorProto.FLOAT),
    ]
    return nodes, {"a": (3, 7)}, {"zero": np.float32(0), "nan": np.float32(np.nan)}


def chosen(kind: str, **attributes):
    """A model where the sums of two operands are taken where conditions hold, else the second."""
    nodes = [
        helper.make_node("Less", ["a", "b"], ["p"]),
        helper.make_node("Less", ["b", "zero"], ["q"]),
        helper.make_node(kind, ["p", "q"][: 1 if kind == "Not" else 2], ["r"]),
        helper.make_node("Add", ["a", "b"], ["s"]),
        helper.make_node("Where", ["r", "s", "b"], ["y"]),
    ]
    return nodes, {"a": (3, 7), "b": (7,)}, {"zero": np.float32(0)}


CASES = {
    "less": condition("Less", [(2, 7), (7,)]),
    "greater": condition("Greater", [(2, 7), (2, 1)]),
    "less or equal": condition("LessOrEqual", [(2, 7), ()]),
    "greater or equal": condition("GreaterOrEqual", [(2, 7), (2, 7)]),
    "equal signs": (
        [
            helper.make_node("Sign", ["a"], ["p"]),
            helper.make_node("Sign", ["b"], ["q"]),
            helper.make_node("Equal", ["p", "q"], ["r"]),
            helper.make_node("Cast", ["r"], ["y"], to=TensorProto.FLOAT),
        ],
        {"a": (9, 7), "b": (7,)},
        {},
    ),
    "not a number": undefined(),
    "where both": chosen("And"),
    "where either": chosen("Or"),
    "where not": chosen("Not"),
    "first largest": condition("ArgMax", [(2, 9, 5)], before="Round", axis=1),
    "first smallest": condition("ArgMin", [(2, 9)], before="Sign", axis=-1, keepdims=0),
    "last largest": condition("ArgMax", [(9, 3)], before="Ceil", axis=0, select_last_index=1),
}


@pytest.mark.parametrize("case", CASES)
def test_conditions_are_those_of_onnx_runtime(case, assert_agrees, make_model):
    assert_agrees(make_model(*CASES[case]))
