"""Every definition against itself: the numpy reference and the interpreted DAG were written apart."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.workload import EpilogueOp, TensorSpec, Workload
from tilewright_tensor.evaluation.evaluate import evaluate
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.operators.reference import OperatorReference

# text forms that cover every built-in operator, on sizes that divide nothing
CASES = (Path(__file__).parent / "operator_cases.txt").read_text().splitlines()

Parse = Callable[[str], Workload]
References = Mapping[str, OperatorReference]


@pytest.mark.parametrize("text", CASES)
def test_reference_and_definition_agree(text: str, workload: Parse, references: References) -> None:
    task = workload(text)
    reference = references[task.operator]
    make, inputs = reference.definition.program, reference.inputs(task, seed=3)
    wide = [array.astype(np.float64) for array in inputs]

    (expected,) = reference.outputs(task, wide)
    if make is not None:
        program = make(task.inputs, task.attributes)
        (got,), (output,) = interpret(program, inputs), program.outputs
    else:
        dag = reference.operators.compute_dag(task)
        (got,), (output,) = evaluate(dag, wide), dag.outputs

    assert [(got.shape, output.dtype)] == reference.output_shapes(task)
    assert expected.shape == got.shape
    np.testing.assert_allclose(got.astype(expected.dtype), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("reduce_sum(5x137:uint8, axes=[1])", lambda data: data.sum(1, np.uint8, keepdims=True)),
        ("clip(3x50:int32, min=-2.5, max=2.5)", lambda data: np.clip(data, -2, 2)),
        ("clip(3x50:uint8, min=-2.5, max=300)", lambda data: data),
        ("clip(3x50:int64, min=0, max=9223372036854775807)", lambda data: np.maximum(data, 0)),
        ("clip(9:int64, max=9007199254740993)", lambda data: np.minimum(data, 2**53 + 1)),
        ("relu(9:int64)", lambda data: np.maximum(data, 0)),
        ("pad(1:int64, padding=[0, 1], value=9007199254740993)", lambda data: [*data, 2**53 + 1]),
        ("cast(64x64, dtype=float16)", lambda data: data.astype(np.float16)),
        ("reduce_max(5x37:bool, axes=[1])", lambda data: data.any(1, keepdims=True)),
        ("reduce_min(5x3:bool, axes=[1])", lambda data: data.all(1, keepdims=True)),
    ],
)
def test_whole_numbers_and_halves_are_what_their_dtype_holds(
    text: str, expected: Callable[..., object], workload: Parse, references: References
) -> None:
    task = workload(text)
    reference = references[task.operator]
    (data,) = reference.inputs(task, seed=3)
    if data.dtype == np.int64:
        data[:1] = 2**62 + 1
    (got,) = reference.outputs(task, [data])
    (defined,) = evaluate(reference.operators.compute_dag(task), [data])
    assert (got.shape, str(got.dtype)) == reference.output_shapes(task)[0]
    np.testing.assert_array_equal(got, expected(data))
    np.testing.assert_array_equal(got, defined)


def test_the_cases_cover_every_operator(operators: Operators) -> None:
    assert {text.partition("(")[0] for text in CASES} == set(operators)


def test_elementwise_operators_may_be_an_epilogue_and_others_may_not(operators: Operators) -> None:
    data, weight = TensorSpec((1, 3, 5, 5)), TensorSpec((2, 3, 1, 1), role="constant")
    fine = operators.workload("conv2d", [data, weight], {}, [EpilogueOp("relu")])
    assert operators.output(fine).shape == (1, 2, 5, 5)
    with pytest.raises(UsageError, match="softmax is not element-wise"):
        operators.workload("conv2d", [data, weight], {}, [EpilogueOp("softmax")])


def test_an_epilogue_that_grows_the_output_is_refused(operators: Operators) -> None:
    inputs = [TensorSpec((1, 1, 5, 5)), TensorSpec((1, 1, 1, 1)), TensorSpec((2, 1, 5, 5))]
    with pytest.raises(UsageError, match=r"makes \[2, 1, 5, 5\] of \[1, 1, 5, 5\]"):
        operators.workload("conv2d", inputs, {}, [EpilogueOp("add", {}, (2,))])


def test_epilogue_operands_are_the_last_inputs_in_order(operators: Operators) -> None:
    inputs = [TensorSpec((1, 2, 5, 5)), TensorSpec((2, 2, 1, 1))]
    with pytest.raises(UsageError, match=r"the epilogue reads inputs \[0\]"):
        operators.workload("conv2d", inputs, {}, [EpilogueOp("add", {}, (0,))])


def test_equal_meanings_have_one_key(operators: Operators) -> None:
    inputs = [TensorSpec((1, 3, 9, 9)), TensorSpec((2, 3, 3, 3), role="constant")]
    spellings = [
        {"padding": 1, "strides": 2},
        {"padding": [1, 1], "strides": [2, 2]},
        {"padding": (1, 1, 1, 1), "strides": 2.0, "dilation": 1, "groups": 1},
    ]
    assert len({operators.workload("conv2d", inputs, s).key for s in spellings}) == 1


def test_an_infinite_bound_is_no_bound(operators: Operators) -> None:
    inputs = [TensorSpec((3, 5))]
    bounded = operators.workload("clip", inputs, {"min": 0, "max": float("inf")})
    assert bounded == operators.workload("clip", inputs, {"min": 0.0})
    assert len(bounded.key) == 16


def test_operands_of_different_dtypes_are_refused(operators: Operators) -> None:
    inputs = [TensorSpec((1, 3)), TensorSpec((2, 3), "float64")]
    with pytest.raises(UsageError, match="differ in dtype: float32, float64"):
        operators.workload("dense", inputs)


def test_attributes_that_came_through_sorted_json_still_mean_the_same(
    workload: Parse, references: References
) -> None:
    task = workload("clip(3x5, min=-0.25, max=0.5)")
    data = task.to_json()
    data["attributes"] = dict(sorted(data["attributes"].items()))
    stored = Workload.from_json(data)
    inputs = references["clip"].inputs(task, seed=0)
    np.testing.assert_array_equal(
        references["clip"].outputs(stored, inputs), references["clip"].outputs(task, inputs)
    )
    assert str(references["clip"].operators.compute_dag(stored)) == str(
        references["clip"].operators.compute_dag(task)
    )


def test_stages_have_stable_names(workload: Parse, operators: Operators) -> None:
    text = "conv2d(1x5x7x6, 4x5x3x3, padding=1) + add(1x4x1x1:const) + add(1x4x7x6) + relu()"
    dag = operators.compute_dag(workload(text))
    assert [tensor.name for tensor in dag.inputs] == ["data", "weight", "e0", "e1"]
    assert [tensor.name for tensor in dag.computes] == ["pad", "conv2d", "add", "add_1", "relu"]
    assert dag.outputs[0].name == "relu"
    assert [axis.name for axis in dag.computes[1].axes] == ["n", "oc", "oh", "ow"]
    assert [axis.name for axis in dag.computes[1].reduce_axes] == ["ic", "kh", "kw"]


def test_a_convolution_without_padding_has_no_pad_stage(
    workload: Parse, operators: Operators
) -> None:
    dag = operators.compute_dag(workload("conv2d(1x5x7x6, 4x5x3x3)"))
    assert [tensor.name for tensor in dag.computes] == ["conv2d"]


def test_inputs_that_no_stage_reads_keep_their_place(workload: Parse, operators: Operators) -> None:
    dag = operators.compute_dag(workload("concat(1x3, 1x2, 1x4)"))
    assert [tensor.name for tensor in dag.inputs] == ["data0", "data1", "data2"]


@pytest.mark.parametrize(
    ("operator", "shapes", "attributes", "message"),
    [
        ("conv2d", [(1, 3, 5, 5), (2, 4, 3, 3)], {}, "do not fit with groups=1"),
        ("conv2d", [(1, 3, 5, 5)], {}, "expected 2 operands \\(data, weight\\), got 1"),
        ("conv2d", [(1, 3, 2, 2), (2, 3, 3, 3)], {}, "the output would have shape"),
        ("conv2d", [(1, 3, 5), (2, 3, 3)], {}, "rank 4"),
        ("conv2d", [(1, 3, 5, 5), (2, 3, 3, 3)], {"stride": 1}, "did you mean 'strides'"),
        ("conv2d", [(1, 3, 5, 5), (2, 3, 3, 3)], {"strides": [1, 2, 3]}, "attribute 'strides'"),
        ("conv2d", [(1, 3, 5, 5), (2, 3, 3, 3)], {"padding": -1}, "none negative"),
        ("conv2d", [(1, 3, 5, 5), (2, 3, 3, 3)], {"padding": 0.5}, "whole number"),
        ("dense", [(1, 3), (2, 4)], {}, r"got \[1, 3\] and \[2, 4\]"),
        ("matmul", [(2, 3), (4, 5)], {}, "K"),
        ("max_pool2d", [(1, 3, 5, 5)], {}, "needs the attribute 'pool_size'"),
        ("max_pool2d", [(1, 3, 5, 5)], {"pool_size": 2, "padding": 2}, "smaller than pool_size"),
        ("softmax", [(1, 3)], {"axis": 2}, "axis 2"),
        ("add", [(1, 3), (1, 1, 3)], {}, "one rank"),
        ("add", [(1, 3), (1, 4)], {}, "do not broadcast"),
        ("reshape", [(2, 3)], {"shape": [4, -1]}, "differ in number"),
        ("transpose", [(2, 3)], {"axes": [0, 0]}, "no permutation"),
        ("concat", [(2, 3), (3, 3)], {"axis": 1}, "differ beside axis 1"),
        ("slice", [(5,)], {"begin": [3], "end": [3]}, "the output would have shape"),
        ("layout_transform", [(1, 3, 5, 5)], {"src": "NCHW", "dst": "OIHW"}, "different axes"),
        ("layout_transform", [(1, 3, 5, 5)], {"src": "NCHW", "dst": "NCHW4"}, "layout 'NCHW4'"),
        ("convolution", [(1, 3)], {}, "no operator named 'convolution'\n.*--plugin FILE"),
    ],
)
def test_bad_operands_and_attributes_are_usage_errors(
    operators: Operators,
    operator: str,
    shapes: list[tuple[int, ...]],
    attributes: dict[str, object],
    message: str,
) -> None:
    with pytest.raises(UsageError, match=message):
        operators.workload(operator, [TensorSpec(shape) for shape in shapes], attributes)


def test_two_definitions_of_a_name_are_refused(operators: Operators) -> None:
    with pytest.raises(UsageError, match="two definitions of the operator 'relu'"):
        Operators([*operators.values(), operators["relu"]])


def test_operations_count_a_multiply_add_as_two(workload: Parse, references: References) -> None:
    plain = workload("conv2d(1x64x56x56, 64x64x3x3, padding=1)")
    assert references["conv2d"].operations(plain) == 2 * 64 * 56 * 56 * 64 * 9
    fused = workload("conv2d(1x64x56x56, 64x64x3x3, padding=1) + add(1x64x1x1:const)")
    assert references["conv2d"].operations(fused) == (2 * 64 * 9 + 1) * 64 * 56 * 56
    assert references["dense"].operations(workload("dense(1x2048, 1000x2048)")) == 2 * 2048 * 1000
    assert references["concat"].operations(workload("concat(1x3, 1x2)")) == 0
    transposed = workload("conv2d_transpose(1x6x4x5, 8x3x3x3, strides=2, groups=2) + relu()")
    assert references["conv2d_transpose"].operations(transposed) == 2 * 6 * 20 * 4 * 9 + 8 * 9 * 11
    cut = workload("conv2d_transpose(1x8x7x7, 8x8x5x5, padding=4)")
    assert references["conv2d_transpose"].operations(cut) == 2 * 8 * 8 * (3 * 5) ** 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("reduce_sum(2x3x5x7, axes=[-1])", "reduce_sum(2x3x5x7, axes=[3])"),
        ("reduce_mean(2x3x5, axes=[2,-2])", "reduce_mean(2x3x5, axes=[1,2])"),
        ("reduce_max(2x3, axes=[0,1])", "reduce_max(2x3)"),
        ("concat(2x3, 2x5)", "concat(2x3, 2x5, axis=-1)"),
        ("flatten(2x3x5, axis=-1)", "flatten(2x3x5, axis=2)"),
        ("softmax(2x3x5)", "softmax(2x3x5, axis=2)"),
        ("layer_norm(2x5, 5:const, 5:const)", "layer_norm(2x5, 5:const, 5:const, axis=1)"),
    ],
)
def test_one_axis_counted_from_either_end_is_one_key(one, other, workload: Parse) -> None:
    assert workload(one).key == workload(other).key


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("max_pool2d(1x1x2x5, pool_size=3, strides=2, ceil_mode=true)", (1, 1, 1, 2)),
        ("avg_pool2d(1x1x2x2, pool_size=4, strides=3, ceil_mode=true)", (1, 1, 1, 1)),
    ],
)
def test_in_ceil_mode_a_window_may_be_larger_than_the_data(
    text, shape, workload: Parse, references: References
) -> None:
    task = workload(text)
    reference = references[task.operator]
    inputs = reference.inputs(task, seed=3)
    (expected,) = reference.outputs(task, inputs)
    (got,) = evaluate(reference.operators.compute_dag(task), inputs)
    assert got.shape == shape
    np.testing.assert_allclose(got, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("pad(3:uint8, padding=[1, 1], value=-1)", "-1.0 is no uint8"),
        ("pad(3:int32, padding=[1, 1], value=0.5)", "0.5 is no int32"),
        ("cast(3, dtype=float8)", "expected one of bool, int8"),
        ("pad(3, padding=[1, 1], value=1e999)", "finite"),
    ],
)
def test_numbers_and_dtypes_that_are_none_are_refused(text, problem, workload: Parse) -> None:
    with pytest.raises(UsageError, match=problem):
        workload(text)


@pytest.mark.parametrize(
    "text",
    [
        "reduce_sum(2x3:bool)",
        "clip(3:bool, min=0)",
        "exp(3:int32)",
        "max_pool2d(1x1x4x4:int8, pool_size=2)",
    ],
)
def test_dtypes_without_a_meaning_are_refused(text, workload: Parse) -> None:
    with pytest.raises(UsageError, match=r"expected operands of a (float|number) dtype"):
        workload(text)


def test_operands_of_any_shapes_are_refused_with_one_line_or_have_an_output(
    operators: Operators,
) -> None:
    chance = random.Random(0)
    shapes = [
        (),
        (1,),
        (2,),
        (4,),
        (2, 4),
        (1, 4),
        (4, 2, 1),
        (0, 4),
        (2, 4, 3, 3),
        (1, 2, 4, 3, 1),
    ]
    good = 0
    for name, definition in operators.items():
        for _ in range(150):
            count = len(definition.operands) + chance.randrange(3) * definition.variadic
            base = chance.choice(shapes)
            specs = [
                TensorSpec(
                    base[: chance.choice([9, 9, 9, 1, 2])] if chance.random() < 0.7 else other,
                    chance.choice(["float32", "float32", "float32", "int64", "bool"]),
                )
                for other in chance.choices(shapes, k=count)
            ]
            axes = {
                "axis": chance.choice([0, 1, -1, 2, 7]),
                "axes": chance.choice([[], [0], [1, 2]]),
            }
            own = {attribute.name for attribute in definition.attributes}
            try:
                made = operators.workload(
                    name, specs, {key: axes[key] for key in own & axes.keys()}
                )
            except UsageError as refused:
                assert "\n" not in refused.message
            else:
                assert operators.compute_dag(made).outputs[0].shape == operators.output(made).shape
                good += 1
    assert good > 1000


@pytest.mark.parametrize("text", ["take(7, 5:uint64)", "take_elements(7, 5:uint64)"])
def test_unsigned_places_beyond_all_signed_ones_are_those_at_the_end(
    text: str, workload: Parse, references: References
) -> None:
    task = workload(text)
    reference = references[task.operator]
    inputs = [np.arange(7, dtype="float32"), np.array([0, 6, 7, 2**63, 2**64 - 1], "uint64")]
    for answers in (
        reference.outputs(task, inputs),
        evaluate(reference.operators.compute_dag(task), inputs),
    ):
        np.testing.assert_array_equal(answers[0], [0, 6, 6, 6, 6])
