"""Text forms convert both ways, and errors point at the character."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.errors import UsageError
from tilewright.vocabulary.workload import EpilogueOp, TensorSpec, Workload
from tilewright_tensor.operators.operators import builtin_operators
from tilewright_tensor.operators.reference import OperatorReference
from tilewright_tensor.operators.text_form import format_workload, parse_workload

Parse = Callable[[str], Workload]
CASES = (Path(__file__).parent / "operator_cases.txt").read_text().splitlines()


@pytest.mark.parametrize("text", CASES)
def test_every_operator_converts_both_ways(
    text: str, workload: Parse, references: Mapping[str, OperatorReference]
) -> None:
    task = workload(text)
    written = references[task.operator].format(task)
    assert workload(written) == task
    assert workload(written).key == task.key
    assert references[task.operator].format(workload(written)) == written


def test_operands_are_activations_save_the_weights(workload: Parse) -> None:
    task = workload(
        "conv2d(1x64x56x56, 64x64x3x3, strides=1, padding=1) + add(1x64x1x1:const) + relu()"
    )
    assert [spec.role for spec in task.inputs] == ["activation", "constant", "constant"]
    assert task.attributes["padding"] == (1, 1, 1, 1)
    assert task.epilogue == (EpilogueOp("add", {}, (2,)), EpilogueOp("relu"))
    assert [s.role for s in workload("dense(1x4, 2x4)").inputs] == ["activation", "constant"]
    assert [s.role for s in workload("matmul(1x4, 4x2)").inputs] == ["activation", "activation"]


def test_defaults_and_repeats_are_left_out(
    workload: Parse, references: Mapping[str, OperatorReference]
) -> None:
    def short(text: str) -> str:
        return references[text.partition("(")[0]].format(workload(text))

    assert short("conv2d(1x8x9x9,8x1x3x3,strides=[1,1],padding=[1,1,1,1],dilation=1,groups=8)") == (
        "conv2d(1x8x9x9, 8x1x3x3, padding=1, groups=8)"
    )
    assert short("conv2d(1x8x9x9, 8x8x3x3, strides=[2, 1], padding=[0, 1, 1, 0])") == (
        "conv2d(1x8x9x9, 8x8x3x3, strides=[2, 1], padding=[0, 1, 1, 0])"
    )
    assert short("relu( 3x5:const:float64 )") == "relu(3x5:const:float64)"
    assert short("dense(3x5, 2x5:activation)") == "dense(3x5, 2x5:activation)"
    assert short("relu(scalar)") == "relu(scalar)"
    assert short("add(3x5, 3x5) + subtract(3x5, _) + subtract(_, 3x5)") == (
        "add(3x5, 3x5) + subtract(3x5, _) + subtract(3x5)"
    )
    assert short("layout_transform(1x8x3x3, src=NCHW, dst=NCHW8c)") == (
        "layout_transform(1x8x3x3, src=NCHW, dst=NCHW8c)"
    )


@settings(deadline=None)
@given(
    shape=st.lists(st.integers(1, 9), min_size=4, max_size=4).map(tuple),
    roles=st.lists(st.sampled_from(["activation", "constant"]), min_size=3, max_size=3),
    dtype=st.sampled_from(["float32", "float64", "int8"]),
    steps=st.lists(st.sampled_from(["relu", "add", "subtract", "clip"]), max_size=4),
    position=st.integers(0, 1),
    bound=st.one_of(st.none(), st.floats(-4, 4, allow_subnormal=False)),
)
def test_any_workload_converts_both_ways(shape, roles, dtype, steps, position, bound) -> None:
    operators = builtin_operators()
    inputs = [TensorSpec(shape, dtype, roles[0]), TensorSpec((1, shape[1], 1, 1), dtype, roles[1])]
    epilogue = []
    for step in steps:
        operands: tuple[int, ...] = ()
        if step in ("add", "subtract"):
            operands = (len(inputs),)
            inputs.append(TensorSpec(shape, dtype, roles[2]))
        attributes = {"max": bound} if step == "clip" else {}
        epilogue.append(EpilogueOp(step, attributes, operands, position if operands else 0))
    task = operators.workload("multiply", inputs, {}, epilogue)
    text = format_workload(operators, task)
    assert parse_workload(operators, text) == task


@pytest.mark.parametrize(
    ("text", "character", "message"),
    [
        ("relu(3y5)", 6, "expected data as a shape like 1x64x56x56, got '3y5'"),
        ("relu(3x0)", 6, "extent 0"),
        (
            "conv2d(1x3x5x5, 2x3x3x3:weight)",
            17,
            "expected const, activation or a dtype, got 'weight'",
        ),
        ("relu(3x5:float99)", 6, "expected const, activation or a dtype, got 'float99'"),
        ("conv2d(1x3x5x5, 2x3x3x3, padding=1, 4x4)", 37, "stands behind an attribute"),
        ("conv2d(1x3x5x5, 2x3x3x3, padding=1, padding=2)", 37, "given twice"),
        ("conv2d(1x3x5x5, 2x3x3x3, padding=[1,)", 38, "expected ')'"),
        ("conv2d(1x3x5x5, 2x3x3x3, padding=1.2.3)", 34, "expected a number"),
        ("relu(3x5", 9, "expected ')' before the end"),
        ("relu 3x5", 6, "expected '('"),
        ("relu", 5, "expected '('"),
        ("relu(3x5) relu()", 11, "expected '+' or the end"),
        ("relu(3x5) + ", 13, "expected an operator's name"),
        ("(3x5)", 1, "expected an operator's name"),
        ("relu(3x5) + add(_, _)", 20, "stands twice"),
        ("add(3x5,, 3x5)", 9, "expected an argument"),
        ("add(3x5, )", 9, "expected an argument"),
    ],
)
def test_errors_point_at_the_character(text: str, character: int, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_workload(builtin_operators(), text, "--task")
    assert f"--task: {text!r}, character {character}: " in str(caught.value)
    assert message in str(caught.value)


def test_a_place_that_shows_the_text_is_not_repeated() -> None:
    with pytest.raises(UsageError, match=r"^task relu\(3y5\), character 6: expected data"):
        parse_workload(builtin_operators(), "relu(3y5)", "task relu(3y5)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("relu(3x5) + rely()", "did you mean 'relu'"),
        ("relu(3x5) + softmax()", "not element-wise"),
        ("conv2d(1x3x5x5, 2x3x3x3, pading=1)", "did you mean 'padding'"),
        ("conv2d(1x3x5x5, 2x3x3x3, 3x3)", "expected 2 operands"),
        ("conv2d(1x3x5x5, 2x3x3x3, padding=NaN)", "padding"),
        ("leaky_relu(3x5, alpha=1e999)", "finite"),
        ("relu(3x5) + add()", "expected 2 operands"),
    ],
)
def test_mistakes_of_meaning_are_usage_errors(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_workload(builtin_operators(), text, "--task")


@settings(deadline=None)
@given(st.text('()x, :=[]_+"13consta', max_size=30))
def test_garbage_is_a_usage_error_or_a_workload(text: str) -> None:
    with suppress(UsageError):
        assert isinstance(parse_workload(builtin_operators(), f"add{text}"), Workload)
