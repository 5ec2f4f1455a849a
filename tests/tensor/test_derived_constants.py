"""Sums against small constant tensors: the rule that unrolls them, and that it means the same."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from tilewright.space.config_space import ConfigSpace
from tilewright_tensor.expressions.expr import eq, logical_and, lt, select
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.ir.dag import Dag, compute, placeholder, reduce_axis, reduce_max, reduce_sum
from tilewright_tensor.ir.loop_ir import LoopProgram
from tilewright_tensor.layouts.winograd import Winograd
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.nests.unrolled import Unrolled
from tilewright_tensor.sketches.rules import derive
from tilewright_tensor.sketches.structure.sketch_input import Limits, SketchInput

Rows = Sequence[Sequence[float]]


def table(name: str, rows: Rows) -> Tensor:
    """A constant matrix: a compute that reads nothing."""

    def element(i: Axis, j: Axis):
        value = 0.0
        for row, numbers in enumerate(rows):
            for column, number in enumerate(numbers):
                if number:
                    value = select(logical_and(eq(i, row), eq(j, column)), number, value)
        return value

    return compute(name, (len(rows), len(rows[0])), element)


def transform(rows: Rows, tiles: int, channels: int) -> Tensor:
    """B^T d B of Winograd's convolution, for every tile and channel."""
    size = len(rows)
    data, matrix = placeholder("data", (size, size, tiles, channels)), table("matrix", rows)
    r, s = reduce_axis(size, "r"), reduce_axis(size, "s")

    def element(a: Axis, b: Axis, p: Axis, c: Axis):
        return reduce_sum(data[r, s, p, c] * matrix[a, r] * matrix[b, s], r, s)

    return compute("transformed", (size, size, tiles, channels), element)


def problem(output: Tensor, threads: int = 1) -> SketchInput:
    return SketchInput(Dag([output]), {}, Limits(4, 16, 1 << 16, threads))


def test_a_winograd_transform_has_one_sketch_with_the_matrix_in_it() -> None:
    (sketch,) = derive(problem(transform(Winograd.of(2).data, 5, 12)))
    assert sketch.name == "unrolled"
    assert list(sketch.schedule.stages) == ["transformed"], "the matrix is part of its reader"
    (plan,) = sketch.plans
    assert isinstance(plan, Unrolled)
    assert plan.constant_axes == {"a", "b", "r", "s"}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("channels", [12, 7, 1])
@pytest.mark.parametrize("outputs", [2, 4])
def test_points_mean_what_the_dag_means(
    outputs: int, channels: int, threads: int, checked: Callable[[Schedule], LoopProgram]
) -> None:
    made = problem(transform(Winograd.of(outputs).data, 5, channels), threads)
    (sketch,) = derive(made)
    space = ConfigSpace([sketch.alternative("derived")])
    for config in space.sample(random.Random(0), 2):
        checked(sketch.scheduled(config.values))


def test_every_loop_over_the_matrix_is_unrolled() -> None:
    made = problem(transform(Winograd.of(4).data, 5, 12))
    (sketch,) = derive(made)
    space = ConfigSpace([sketch.alternative("derived")])
    stages = sketch.scheduled(space.first().values).stages
    kinds = stages["transformed.register"].kinds
    assert {loop for loop, kind in kinds.items() if kind == "unrolled"} == {"a", "b", "r", "s"}
    assert kinds["c.1"] == "vectorized"


def test_an_epilogue_is_a_nest_of_its_own(checked: Callable[[Schedule], LoopProgram]) -> None:
    total = transform(Winograd.of(2).data, 3, 8)
    made = problem(compute("twice", total.shape, lambda a, b, p, c: total[a, b, p, c] * 2.0))
    (sketch,) = derive(made)
    space = ConfigSpace([sketch.alternative("derived")])
    checked(sketch.scheduled(space.first().values))


def test_any_reduction_but_only_over_what_is_small_is_unrolled() -> None:
    data, k = placeholder("data", (64, 8)), reduce_axis(64, "k")
    mask = compute("mask", (64, 64), lambda i, j: select(lt(i, j), 0.0, 1.0))
    large = compute("large", (64, 8), lambda i, c: reduce_sum(mask[i, k] * data[k, c], k))
    assert all("unrolled" not in sketch.name for sketch in derive(problem(large)))
    shifts = compute("shifts", (64,), lambda i: select(lt(i, 9), 0.5, 1.0))
    highest = compute("highest", (8,), lambda c: reduce_max(data[k, c] + shifts[k], k))
    (sketch,) = derive(problem(highest))
    assert sketch.name == "unrolled", "any reduction over a constant tensor"
