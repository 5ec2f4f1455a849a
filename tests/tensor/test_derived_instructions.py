"""Which stages the rules give to a tensor instruction, and in what formats it finds its factors.

The instruction is made up: four lanes, each with the sum of three products.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from tilewright.space.config_space import ConfigSpace
from tilewright.vocabulary.workload import Workload
from tilewright_tensor.expressions.expr import cast, exp, tanh
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import Dag, compute, placeholder, reduce_axis, reduce_sum
from tilewright_tensor.ir.loop_ir import LoopProgram, Tensorized, walk
from tilewright_tensor.ir.tensor_instruction import TensorInstruction
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.rules import derive
from tilewright_tensor.sketches.sketch import Sketch
from tilewright_tensor.sketches.structure.sketch_input import Limits, SketchInput

LANES, TERMS = 4, 3
LIMITS = Limits(lanes=4, registers=16, cache_bytes=1 << 16, threads=1)
CASES = """
matmul(7x13, 13x17) + relu()
matmul(2x5x6, 2x6x11)
matmul(3x1, 1x5)
matmul(3x512, 512x1)
dense(3x7, 13x7) + add(1x13:const) + tanh()
dense(3x7, 3x7)
conv2d(1x8x7x7, 5x8x3x3, padding=1) + relu()
conv2d(2x5x6x6, 9x5x3x3, padding=[1,0,2,1], dilation=2) + add(2x9x5x3)
conv2d(1x1x5x7, 4x1x2x3, strides=2, padding=1)
conv1d(1x3x17, 5x3x3, padding=1)
conv3d(1x4x4x6x5, 4x4x2x3x3, padding=1) + relu()
""".strip().splitlines()
WITHOUT = """
conv2d(1x4x5x5, 4x1x3x3, padding=1, groups=4)
conv2d(1x8x5x5, 8x4x3x3, padding=1, groups=2)
max_pool2d(1x4x7x7, pool_size=3)
matmul(1x40, 40x1)
softmax(3x13)
relu(3x5)
""".strip().splitlines()


def dot(dtype: str = "float32") -> TensorInstruction:
    a, b = placeholder("a", (TERMS,), dtype), placeholder("b", (LANES, TERMS), dtype)
    k = reduce_axis(TERMS, "k")
    meaning = compute(
        "c", (LANES,), lambda i: reduce_sum(cast(a[k], "float32") * cast(b[i, k], "float32"), k)
    )
    strides = {"a": (1,), "b": (TERMS, 1), "c": (1,)}
    return TensorInstruction(f"dot.{dtype}", "any", meaning, strides, "register", "dots")


def derived(
    dag: Dag, constants: dict[str, str] | None = None, dtype: str = "float32"
) -> list[Sketch]:
    limits = replace(LIMITS, instructions=(dot(dtype),))
    return list(derive(SketchInput(dag, constants or {}, limits)))


@pytest.fixture
def sketches(
    operators: Operators, workload: Callable[[str], Workload]
) -> Callable[..., list[Sketch]]:
    """Those of a text form."""

    def make(text: str, dtype: str = "float32") -> list[Sketch]:
        parsed = workload(text)
        dag, anchor = operators.compute_dag(parsed), operators.find(parsed.operator)
        constants = {
            tensor.name: (anchor.operand(number).letters if number < len(anchor.operands) else "")
            or Layout.logical(len(tensor.shape)).letters
            for number, (tensor, spec) in enumerate(zip(dag.inputs, parsed.inputs, strict=True))
            if spec.role == "constant"
        }
        return derived(dag, constants, dtype)

    return make


def _points(sketch: Sketch, count: int = 3) -> list[dict]:
    space = ConfigSpace([sketch.alternative("derived")])
    found = space.sample(random.Random(sketch.name), count)
    assert found, f"{sketch.name} has no point"
    return [config.values for config in found]


def _instructions(program: LoopProgram) -> int:
    return sum(isinstance(one, Tensorized) for one in walk(program.body))


@pytest.mark.parametrize("text", CASES)
def test_every_sketch_of_a_product_has_the_instruction_and_means_what_the_dag_means(
    text: str,
    sketches: Callable[..., list[Sketch]],
    checked: Callable[[Schedule], LoopProgram],
) -> None:
    found = sketches(text)
    assert {sketch.name for sketch in found} == {"fused-1", "fused-2"}
    for sketch in found:
        for values in _points(sketch):
            assert _instructions(checked(sketch.scheduled(values))) > 0


@pytest.mark.parametrize("text", WITHOUT)
def test_what_is_no_product_of_plain_factors_has_the_sketches_of_before(
    text: str, sketches: Callable[..., list[Sketch]]
) -> None:
    for sketch in sketches(text):
        assert not any("tensorize" in step for step in sketch.scheduled(_points(sketch)[0]).steps)


def _product(left: Tensor, right: Tensor, name: str) -> Tensor:
    k = reduce_axis(left.shape[1], f"{name}_k")
    shape = left.shape[0], right.shape[1]
    return compute(name, shape, lambda i, j: reduce_sum(left[i, k] * right[k, j], k))


@pytest.mark.parametrize("between", [None, tanh, lambda x: x * 2 + 1], ids=["", "tanh", "linear"])
def test_of_two_products_in_a_row_both_have_the_instruction(
    between: Callable | None, checked: Callable[[Schedule], LoopProgram]
) -> None:
    a, b, c = placeholder("a", (5, 7)), placeholder("b", (7, 9)), placeholder("c", (9, 10))
    middle = _product(a, b, "first")
    if between:
        first = middle
        middle = compute("middle", first.shape, lambda i, j: between(first[i, j]))
    dag = Dag([_product(middle, c, "second")], [a, b, c])
    found = derived(dag)
    assert len(found) == 4
    for sketch in found:
        for values in _points(sketch, 2):
            schedule = sketch.scheduled(values)
            assert sum(step[0] == "tensorize" for step in schedule.steps) == 2
            checked(schedule)


def test_what_a_stage_computes_has_no_room_for_terms_beyond_the_end(
    checked: Callable[[Schedule], LoopProgram],
) -> None:
    """exp(0) of a padded element would be added up."""
    a, b = placeholder("a", (5, 7)), placeholder("b", (7, 9))
    grown = compute("grown", a.shape, lambda i, k: exp(a[i, k]))
    for sketch in derived(Dag([_product(grown, b, "product")], [a, b])):
        schedule = sketch.scheduled(_points(sketch)[0])
        assert not any(step[0] == "tensorize" for step in schedule.steps)
        checked(schedule)


def test_one_operand_in_both_places_has_no_two_formats() -> None:
    a, k = placeholder("a", (5, 6)), reduce_axis(6, "k")
    gram = compute("gram", (5, 5), lambda i, j: reduce_sum(a[i, k] * a[j, k], k))
    for sketch in derived(Dag([gram])):
        assert not any("tensorize" in step for step in sketch.scheduled(_points(sketch)[0]).steps)


def test_factors_lie_in_groups_of_terms_stored_as_the_instruction_takes_them(
    sketches: Callable[..., list[Sketch]],
) -> None:
    (sketch,) = (one for one in sketches("matmul(8x12, 12x16)", "bfloat16") if "2" in one.name)
    values = {**_points(sketch)[0], "tile_c": (2, 1, 1, 8)}
    layouts = {name: layout.text for name, layout in sketch.layouts(values).items()}
    assert layouts["a"] == "NC3c:bfloat16", "terms of a row side by side"
    assert layouts["b"] == "CN8c3n:bfloat16", "and of a tile of columns"
    assert layouts["matmul"] == "NC", "sums in their own type"


def test_images_come_and_go_in_blocks_and_constants_beside_them_keep_their_digits(
    sketches: Callable[..., list[Sketch]],
) -> None:
    text = "conv2d(1x24x7x7, 8x24x3x3, padding=1) + add(1x8x1x1:const) + add(1x8x7x7)"
    (sketch,) = (one for one in sketches(text, "bfloat16") if "2" in one.name)
    for values in _points(sketch, 20):
        layouts = sketch.layouts(values)
        block = values["block_terms"]
        assert block in (12, 24)
        assert layouts["data"].text == layouts["pad"].text == f"NCHW{block}c:bfloat16"
        assert values["tile_ic"][-1] == block
        bias, residual, output = (
            layouts[tensor.name]
            for tensor in (*sketch.problem.dag.inputs[2:], sketch.problem.dag.outputs[0])
        )
        assert output.text in ("NCHW", "NCHW4c:bfloat16", "NCHW8c:bfloat16")
        assert residual == output
        assert not bias.dtype


def test_lanes_lie_along_rows_of_a_constant_else_along_the_axis_that_fills_them() -> None:
    def layouts(rows: int, columns: int, constants: dict[str, str]) -> dict[str, str]:
        a, b, k = placeholder("a", (rows, 6)), placeholder("b", (columns, 6)), reduce_axis(6, "k")
        out = compute("out", (rows, columns), lambda i, j: reduce_sum(a[i, k] * b[j, k], k))
        sketch = derived(Dag([out], [a, b]), constants)[0]
        return {name: one.text for name, one in sketch.layouts(_points(sketch)[0]).items()}

    assert layouts(8, 8, {})["a"] == "NC3c"
    assert layouts(8, 2, {})["b"] == "NC3c"
    assert layouts(8, 2, {"b": "OI"})["a"] == "NC3c"
