"""References against loops that nobody optimised, and what core asks of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.workload import EpilogueOp, Workload
from tilewright_tensor.operators.reference import OperatorReference

Parse = Callable[[str], Workload]
References = Mapping[str, OperatorReference]
CASES = (Path(__file__).parent / "operator_cases.txt").read_text().splitlines()


def _naive_conv2d(data, weight, strides, padding, dilation, groups):
    batch, channels, height, width = data.shape
    filters, per_group, kernel_h, kernel_w = weight.shape
    out_h = (height + padding[0] + padding[2] - dilation[0] * (kernel_h - 1) - 1) // strides[0] + 1
    out_w = (width + padding[1] + padding[3] - dilation[1] * (kernel_w - 1) - 1) // strides[1] + 1
    result = np.zeros((batch, filters, out_h, out_w))
    for n, o, y, x in itertools.product(*map(range, result.shape)):
        group = o // (filters // groups)
        for c, i, j in itertools.product(range(per_group), range(kernel_h), range(kernel_w)):
            row = y * strides[0] + i * dilation[0] - padding[0]
            column = x * strides[1] + j * dilation[1] - padding[1]
            if 0 <= row < height and 0 <= column < width:
                result[n, o, y, x] += (
                    data[n, group * per_group + c, row, column] * weight[o, c, i, j]
                )
    assert channels == per_group * groups
    return result


@pytest.mark.parametrize(
    "text", [case for case in CASES if case.startswith("conv2d(") and "+" not in case]
)
def test_convolution_is_what_plain_loops_give(
    text: str, workload: Parse, references: References
) -> None:
    task = workload(text)
    data, weight = references["conv2d"].inputs(task, seed=1)
    (got,) = references["conv2d"].outputs(task, [data, weight])
    expected = _naive_conv2d(data.astype(float), weight.astype(float), **task.attributes)
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)


def test_convolution_in_several_pieces_is_the_same(
    workload: Parse, references: References, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = workload("conv2d(2x4x11x9, 6x2x3x3, strides=[2, 1], padding=1, groups=2)")
    inputs = references["conv2d"].inputs(task, seed=1)
    (whole,) = references["conv2d"].outputs(task, inputs)
    monkeypatch.setattr(
        "tilewright_tensor.operators.definition.numpy_references._PATCH_ELEMENTS", 1
    )
    (pieces,) = references["conv2d"].outputs(task, inputs)
    np.testing.assert_allclose(pieces, whole, rtol=1e-6)


def test_epilogue_is_applied_in_order_and_in_its_place(
    workload: Parse, references: References
) -> None:
    text = "dense(3x7, 5x7) + subtract(3x5, _) + multiply(1x5:const) + relu()"
    task = workload(text)
    inputs = references["dense"].inputs(task, seed=1)
    x, w, left, scale = (array.astype(float) for array in inputs)
    (got,) = references["dense"].outputs(task, inputs)
    np.testing.assert_allclose(got, np.maximum((left - x @ w.T) * scale, 0), rtol=1e-5, atol=1e-7)
    assert got.dtype == np.float32


def test_sums_are_accumulated_in_float64(workload: Parse, references: References) -> None:
    task = workload("dense(1x3, 1x3)")
    inputs = [np.array([[1e8, 1.0, -1e8]], np.float32), np.ones((1, 3), np.float32)]
    assert references["dense"].outputs(task, inputs)[0].item() == 1.0


@pytest.mark.parametrize("text", CASES)
def test_d21_inputs_are_finite_normal_and_seeded_and_answers_finite(
    text: str, workload: Parse, references: References
) -> None:
    task = workload(text)
    reference = references[task.operator]
    first, again, other = (reference.inputs(task, seed) for seed in (5, 5, 6))
    (answer,) = reference.outputs(task, first)
    assert [a.shape for a in first] == [spec.shape for spec in task.inputs]
    assert [str(a.dtype) for a in first] == [spec.dtype for spec in task.inputs]
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    assert all(np.isfinite(array).all() for array in (*first, answer))
    # A processor takes many times as long for numbers below the normal ones.
    tiny = [np.finfo(array.dtype).tiny for array in first if array.dtype.kind == "f"]
    floats = [np.abs(array[array != 0]) for array in first if array.dtype.kind == "f"]
    assert all((array >= bound).all() for array, bound in zip(floats, tiny, strict=True))


def test_answers_of_deep_convolutions_stay_near_one(
    workload: Parse, references: References
) -> None:
    task = workload("conv2d(1x256x5x5, 32x256x3x3, padding=1)")
    (answer,) = references["conv2d"].outputs(task, references["conv2d"].inputs(task, seed=0))
    assert 0.1 < answer.std() < 1.0


def test_tolerance_grows_with_the_root_of_the_terms(
    workload: Parse, references: References
) -> None:
    epsilon = float(np.finfo(np.float32).eps)

    def of(text: str) -> float:
        return references["dense"].tolerance(workload(text)) / epsilon

    assert of("dense(1x1, 1x1)") == pytest.approx(64)
    assert of("dense(1x1024, 1x1024)") == pytest.approx(16 * 32)
    assert of("dense(1x4096, 1x4096) + relu()") == pytest.approx(16 * 64)


def test_tolerance_finds_a_lost_channel(workload: Parse, references: References) -> None:
    task = workload("conv2d(1x512x7x7, 64x512x3x3, padding=1)")
    reference = references["conv2d"]
    data, weight = reference.inputs(task, seed=0)
    (right,) = reference.outputs(task, [data, weight])
    data[:, 17] = 0
    (wrong,) = reference.outputs(task, [data, weight])
    assert np.abs(wrong - right).max() / np.abs(right).max() > 10 * reference.tolerance(task)


def test_bytes_count_every_operand_and_the_output_once(
    workload: Parse, references: References
) -> None:
    assert references["dense"].bytes(workload("dense(3x7, 5x7) + add(1x5)")) == 4 * (
        21 + 35 + 5 + 15
    )
    assert references["relu"].bytes(workload("relu(3x5:float64)")) == 8 * 30


def test_pack_and_unpack_follow_the_layout(references: References) -> None:
    array = np.arange(1 * 20 * 3 * 2, dtype=np.float32).reshape(1, 20, 3, 2)
    packed = references["relu"].pack(array, "NCHW16c")
    assert packed.shape == (1, 2, 3, 2, 16)
    np.testing.assert_array_equal(references["relu"].unpack(packed, "NCHW16c", array.shape), array)


THIRD_PARTY = """
from tilewright import hookimpl
from tilewright_tensor.ir.dag import compute
from tilewright_tensor.operators.definition.attribute import Attribute, number
from tilewright_tensor.operators.definition.operator_def import Operand, OperatorDef


def _stage(tensors, attributes):
    (x,) = tensors
    return compute("shift", x.shape, lambda *place: x[place] + attributes["by"])


@hookimpl
def tilewright_operators():
    return [
        OperatorDef(
            "shift",
            (Operand("data"),),
            lambda inputs, attributes: (inputs[0].shape, inputs[0].dtype),
            _stage,
            attributes=(Attribute("by", number, 1.0),),
            elementwise=True,
        )
    ]
"""


def test_one_hook_adds_an_operator(tmp_path: Path) -> None:
    (tmp_path / "shifting.py").write_text(THIRD_PARTY)
    host = PluginHost.load([tmp_path / "shifting.py"])

    alone = host.reference("shift").parse("(3x5, by=2)", "")
    (answer,) = host.reference("shift").outputs(alone, [np.zeros((3, 5), np.float32)])
    fused = host.reference("dense").parse("(3x7, 5x7) + shift(by=0.5)", "")
    arrays = host.reference("dense").inputs(fused, seed=0)
    (shifted,) = host.reference("dense").outputs(fused, arrays)
    (plain,) = host.reference("dense").outputs(fused.anchor, arrays)

    np.testing.assert_array_equal(answer, np.full((3, 5), 2, np.float32))
    np.testing.assert_allclose(shifted, plain + 0.5, rtol=1e-6)
    assert host.reference("dense").format(fused) == "dense(3x7, 5x7) + shift(by=0.5)"


@pytest.mark.parametrize(
    "text",
    [
        "matmul(5x7, 7x3:const) + log()",
        "global_avg_pool2d(1x4x3x3) + sqrt()",
        "subtract(5x7, 1x7:const) + power(1x1:const)",
        "reduce_mean(5x7, axes=[1]) + add(5x1:const) + sqrt()",
        "matmul(5x7, 7x3:const) + divide(5x3, _)",
    ],
)
def test_an_epilogue_gets_a_running_value_that_it_is_defined_for(references, text):
    name, parenthesis, rest = text.partition("(")
    task = references[name].parse(parenthesis + rest, "")
    (answer,) = references[name].outputs(task, references[name].inputs(task, seed=0))
    assert np.isfinite(answer).all()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"attributes": {"bogus": 7}}, "softmax has no attribute 'bogus'"),
        ({"attributes": {"axis": 7}}, "softmax: axis 7 does not exist in rank 2"),
        ({"inputs": ()}, r"softmax: expected 1 operands \(data\), got 0"),
        ({"epilogue": (EpilogueOp("relu", position=2),)}, "relu in the epilogue has no argument 2"),
    ],
)
def test_a_workload_that_somebody_wrote_by_hand_is_completed_or_refused(
    workload: Parse, references: References, change: Mapping[str, object], says: str
) -> None:
    task = workload("softmax(3x5) + relu()")
    assert references["softmax"].checked(replace(task, attributes={}), "f.json") == task
    with pytest.raises(UsageError, match=f"f.json: {says}"):
        references["softmax"].checked(replace(task, **change), "f.json")
