"""Operators made by `@operator`: what follows from the function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.workload import EpilogueOp
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.expressions.expr import cast, exp
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import compute, reduce_axis, reduce_sum
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.operators.definition.attribute import Attribute, extents
from tilewright_tensor.operators.definition.operator_def import Operand, OperatorDef
from tilewright_tensor.operators.operator import operator
from tilewright_tensor.operators.operators import Operators, builtin_operators
from tilewright_tensor.operators.reference import OperatorReference
from tilewright_tensor.schedule.schedule import Schedule

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_operator.py"


def _reference(definition: OperatorDef) -> OperatorReference:
    return OperatorReference(
        definition.name, Operators([*builtin_operators().values(), definition])
    )


@operator(Operand("weight", role="constant"), Attribute("window", extents(2)))
def kinds(data: Tensor, weight: Tensor, *, window: Any, scale: float = 0.5, keep: bool = False,
          axes: Any = (0,), mode: str = "plain") -> Tensor:  # fmt: skip
    assert (len(window), axes, mode, keep) == (2, axes, "plain", False)
    return compute("any", data.shape, lambda i, j: data[i, j] * scale + weight[i, 0])


def test_parameters_become_operands_and_attributes() -> None:
    assert [o.name for o in kinds.operands] == ["data", "weight"]
    assert [o.role for o in kinds.operands] == ["activation", "constant"]
    assert [a.name for a in kinds.attributes] == ["window", "scale", "keep", "axes", "mode"]
    assert kinds.normalise({"window": 3}) == {
        "window": [3, 3], "scale": 0.5, "keep": False, "axes": [0], "mode": "plain",
    }  # fmt: skip


def test_the_text_form_comes_with_the_definition() -> None:
    reference = _reference(kinds)
    workload = reference.parse("(3x5, 3x1, window=[2, 3], scale=2)", "")
    assert [spec.role for spec in workload.inputs] == ["activation", "constant"]
    assert workload.attributes["scale"] == 2.0
    text = reference.format(workload)
    assert text == "kinds(3x5, 3x1, window=[2, 3], scale=2.0)"
    assert reference.parse(text.removeprefix("kinds"), "") == workload


def test_answers_come_from_the_definition() -> None:
    reference = _reference(kinds)
    workload = reference.parse("(3x5, 3x1, window=1, scale=2)", "")
    data, weight = reference.inputs(workload, seed=1)
    (got,) = reference.outputs(workload, [data, weight])
    np.testing.assert_allclose(got, data * 2 + weight, rtol=1e-6)
    assert reference.output_shapes(workload) == [((3, 5), "float32")]


def test_inputs_are_drawn_as_the_operands_say() -> None:
    @operator(Operand("data", values="positive"))
    def logs(data: Tensor) -> Tensor:
        return compute("logs", data.shape, lambda i: exp(data[i]))

    reference = _reference(logs)
    (data,) = reference.inputs(reference.parse("(101)", ""), seed=1)
    assert data.min() >= 0.5


def test_several_operands_may_repeat() -> None:
    @operator()
    def total(*parts: Tensor) -> Tensor:
        return compute(
            "total", parts[0].shape, lambda i: sum((p[i] for p in parts[1:]), parts[0][i])
        )

    reference = _reference(total)
    workload = reference.parse("(7, 7, 7)", "")
    inputs = reference.inputs(workload, seed=1)
    np.testing.assert_allclose(reference.outputs(workload, inputs)[0], sum(inputs), rtol=1e-6)


def test_an_elementwise_one_may_follow_a_convolution() -> None:
    @operator(elementwise=True)
    def swish(data: Tensor, *, beta: float = 1.0) -> Tensor:
        return compute("swish", data.shape, lambda *i: data[i] / (exp(data[i] * -beta) + 1.0))

    reference = OperatorReference("conv2d", Operators([*builtin_operators().values(), swish]))
    workload = reference.parse("(1x3x5x5, 4x3x3x3) + swish(beta=2)", "")
    inputs = reference.inputs(workload, seed=1)
    (got,) = reference.outputs(workload, inputs)
    plain = reference.operators.workload("conv2d", workload.inputs)
    (before,) = reference.outputs(plain, inputs)
    np.testing.assert_allclose(got, before / (np.exp(-2 * before) + 1), rtol=1e-4)
    (step,) = workload.epilogue
    assert replace(step, definition="") == EpilogueOp("swish", {"beta": 2.0})


@operator(elementwise=True)
def blended(data: Tensor, other: Tensor, share: Tensor) -> Tensor:
    return compute(
        "blended", data.shape, lambda *i: data[i] * share[i] + other[i] * (1.0 - share[i])
    )


@pytest.mark.parametrize("shapes", ["3x4, 3x4, 3x4", "3x4, 1x4, 3x1", "1x4, 3x1, 1x1"])
def test_operands_of_an_elementwise_one_broadcast(shapes: str) -> None:
    reference = _reference(blended)
    workload = reference.parse(f"({shapes})", "")
    data, other, share = reference.inputs(workload, seed=1)
    (got,) = reference.outputs(workload, [data, other, share])
    np.testing.assert_allclose(got, data * share + other * (1 - share), rtol=1e-5)
    assert reference.output_shapes(workload) == [((3, 4), "float32")]


def test_operands_of_an_elementwise_one_broadcast_in_an_epilogue() -> None:
    reference = OperatorReference("dense", Operators([*builtin_operators().values(), blended]))
    workload = reference.parse("(3x5, 4x5) + blended(3x1, 1x4)", "")
    inputs = reference.inputs(workload, seed=1)
    (got,) = reference.outputs(workload, inputs)
    data, weight, other, share = inputs
    np.testing.assert_allclose(got, (data @ weight.T) * share + other * (1 - share), rtol=1e-4)
    program = lower(Schedule.of(reference.operators.compute_dag(workload)), "blended")
    np.testing.assert_allclose(interpret(program, inputs)[0], got, rtol=1e-4)


@pytest.mark.parametrize(
    ("shapes", "problem"),
    [
        ("3x4, 2x4, 3x4", r"shapes \[3, 4\], \[2, 4\], \[3, 4\] do not broadcast"),
        ("3x4, 4, 3x4", r"expected operands of one rank, got \[\[3, 4\], \[4\], \[3, 4\]\]"),
    ],
)
def test_operands_that_do_not_broadcast_are_told(shapes: str, problem: str) -> None:
    with pytest.raises(UsageError, match=f"blended: {problem}"):
        _reference(blended).parse(f"({shapes})", "")


@pytest.mark.parametrize(
    ("define", "problem"),
    [
        (
            lambda data: compute("slip", data.shape, lambda i, j: data[i, 4 - j]),
            "read data at its own place only: leave elementwise=True out",
        ),
        (
            lambda data: compute("slip", data.shape[:1], lambda i: data[i, 0]),
            r"have the shape \[3, 5\] of its operands, not \[3\]",
        ),
        (
            lambda data: compute(
                "slip", data.shape, lambda i, j: reduce_sum(data[i, j], reduce_axis(2))
            ),
            "read data at its own place only",
        ),
    ],
)
def test_what_is_not_elementwise_is_not_taken_for_it(define: Any, problem: str) -> None:
    def slip(data: Tensor) -> Tensor:
        made: Tensor = define(data)
        return made

    with pytest.raises(UsageError, match=rf"slip: test_own_operator\.py:\d+: .*would {problem}"):
        _reference(operator(elementwise=True)(slip)).parse("(3x5)", "")


def row_sum(data: Tensor) -> Tensor:
    k = reduce_axis(data.shape[1], "k")
    return compute("row_sum", data.shape[:1], lambda i: reduce_sum(data[i, k], k))


def _checked(reference: Callable[..., Any]) -> None:
    made = _reference(operator(reference=reference)(row_sum))
    workload = made.parse("(5x70)", "")
    made.outputs(workload, made.inputs(workload, seed=1))


def test_a_faster_reference_is_compared_with_the_definition() -> None:
    _checked(lambda arrays, _attributes: arrays[0].sum(axis=1))
    with pytest.raises(
        UsageError, match=r"row_sum: at \[0\] the reference gives .* the definition"
    ):
        _checked(lambda arrays, _attributes: arrays[0].mean(axis=1))
    with pytest.raises(UsageError, match=r"gives shape \[1, 70\], its definition \[5\]"):
        _checked(lambda arrays, _attributes: arrays[0][:1])


def test_a_reference_wrong_at_the_end_only_is_found_too() -> None:
    def wrong(arrays: Any, _attributes: Any) -> Any:
        result = arrays[0].sum(axis=1)
        result[-1] += 1
        return result

    with pytest.raises(UsageError, match=r"at \[4\] the reference gives"):
        _checked(wrong)


def test_the_tolerance_follows_the_longest_sum() -> None:
    made = _reference(operator()(row_sum))
    short, long = made.parse("(5x2)", ""), made.parse("(5x10000)", "")
    epsilon = float(np.finfo(np.float32).eps)
    assert made.tolerance(short) == pytest.approx(64 * epsilon)
    assert made.tolerance(long) == pytest.approx(1600 * epsilon)


# --- mistakes -------------------------------------------------------------------------------------


def test_the_tolerance_is_that_of_the_coarsest_dtype_on_the_way() -> None:
    @operator()
    def rounded(data: Tensor) -> Tensor:
        halves = compute("halves", data.shape, lambda i: cast(data[i] * 3.0, "float16"))
        return compute("rounded", data.shape, lambda i: cast(halves[i], "float32"))

    reference = _reference(rounded)
    workload = reference.parse("(99)", "")
    (data,) = reference.inputs(workload, seed=1)
    (got,) = reference.outputs(workload, [data])
    np.testing.assert_array_equal(got, (data * np.float64(3)).astype(np.float16))
    assert reference.tolerance(workload) >= np.finfo(np.float16).eps


@pytest.fixture(scope="module")
def host() -> PluginHost:
    """A host with the example's operator."""
    return PluginHost.load([EXAMPLE])


def test_the_example_is_as_short_as_promised() -> None:
    assert EXAMPLE.read_text("utf-8").count("\n") < 25


def test_the_example_computes_what_it_says(host: PluginHost) -> None:
    reference = host.reference("distances")
    workload = reference.parse("(7x11, 5x11, squared=true)", "")
    data, points = reference.inputs(workload, seed=1)
    expected = ((data[:, None] - points[None]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(reference.outputs(workload, [data, points])[0], expected, rtol=1e-5)
    assert reference.format(workload) == "distances(7x11, 5x11, squared=true)"


@pytest.mark.usefixtures("_x86")
def test_the_example_is_tuned_without_a_strategy_of_its_own(
    host: PluginHost, tmp_path: Path
) -> None:
    import tilewright

    result = tilewright.tune(
        "distances(13x7, 17x7)",
        target="x86:threads=1",
        tuner="random",
        budget=3,
        records=tmp_path / "records.jsonl",
        host=host,
    )
    assert result.seconds is not None
    assert result.summary["failures"] == 0


@pytest.fixture
def _x86() -> None:
    for module in ("tilewright_x86", "tilewright_measure", "tilewright_search"):
        pytest.importorskip(module)
