"""Transposed convolutions by products of matrices: right answers, and no product with zeros."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import pytest
from answers import host, task_of, tolerance

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_tensor.expressions.expr import Load, Op
from tilewright_tensor.ir.facts import Condition
from tilewright_tensor.ir.loop_ir import Guard, Loop, LoopProgram, Statement, Store, inside
from tilewright_tensor.lowering.verify import verify

STRATEGY = "conv2d_transpose.cuda"

CASES = """
conv2d_transpose(2x8x5x3, 12x8x4x4, strides=2, padding=1) + add(1x12x1x1:const) + silu()
conv2d_transpose(3x7x5x4, 17x7x3x3, strides=2, padding=1, output_padding=1) + relu()
conv2d_transpose(1x5x4x7, 9x5x2x3, strides=[3,1], padding=[0,2,1,0], output_padding=[1,0])
conv2d_transpose(2x16x3x2, 4x16x5x2, strides=3, padding=[1,0,2,0]) + add(2x4x8x5)
conv2d_transpose(1x3x7x9, 5x3x3x3, padding=3)
conv2d_transpose(1x20x6x5, 24x20x1x1, strides=2, output_padding=1)
conv2d_transpose(2x9x3x5, 16x9x3x3:activation, strides=2, padding=[2,0,0,1])
conv2d_transpose(1x1x1x1, 1x1x1x1)
""".strip().splitlines()


def configs(task: Task) -> list[ConfigEntity]:
    """What the strategy advises, and points of both layouts with and without tiles in turns."""
    advised = host().implementation(STRATEGY).fallback(task)
    assert advised is not None
    points = host().space(task, STRATEGY).sample(random.Random(0), 6, balanced=True)
    return [*dict.fromkeys([advised, *points])]


@pytest.mark.parametrize("text", CASES)
def test_answers_agree_with_the_reference_under_emulation(text: str, emulated: Any) -> None:
    task = emulated.task(text)
    chosen = configs(task)
    assert {one.strategy.partition("/")[2] for one in chosen} == {"NCHW", "NHWC"}
    for config, error in zip(chosen, emulated.relative_errors(task, chosen), strict=True):
        assert error <= tolerance(task), f"{config.text}: {error}"


@pytest.mark.parametrize("text", CASES)
def test_programs_are_well_formed(text: str) -> None:
    task = task_of(text, "cuda:arch=sm_90")
    for config in configs(task):
        assert verify(host().lower(task, config)) == [], config.text


def test_groups_are_left_to_derived_schedules() -> None:
    task = task_of("conv2d_transpose(1x6x5x3, 4x3x3x5, strides=2, groups=2)", "cuda:arch=sm_90")
    names = {strategy.name for strategy in host().strategies(task)}
    assert "derived.cuda" in names
    assert STRATEGY not in names


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("split_k", [1, 2])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize(
    ("filters", "strides"), [((3, 3), (2, 2)), ((4, 4), (2, 2)), ((5, 2), (3, 3)), ((3, 2), (1, 2))]
)
def test_every_tap_is_multiplied_once(
    filters: tuple[int, int], strides: tuple[int, int], layout: str, split_k: int, stages: int
) -> None:
    """Of the 3x3 taps of strides 2, residues have 4, 2, 2 and 1: 9 together, not 16."""
    extents = "x".join(map(str, filters))
    text = f"conv2d_transpose(1x32x9x9, 24x32x{extents}, strides={list(strides)})"
    task = task_of(text, "cuda:arch=sm_90")
    tile = {"bm": 32, "bn": 32, "bk": 16, "tm": 2, "tn": 4, "vec": 1}
    values = {**tile, "split_k": split_k, "stages": stages}
    config = ConfigEntity(f"{STRATEGY}/{layout}", values)
    steps_of_a_tap = 32 // 16
    assert steps(host().lower(task, config)) == prod(filters) * steps_of_a_tap


def steps(program: LoopProgram) -> int:
    """How many steps of the depth the blocks of one tile of rows and columns make, together."""
    loops, conditions = next(sums(program.body))
    counted = [one for one in loops if one.kind == "blockIdx.z" or one.var.name.endswith(".k.0")]
    points = product(*(range(one.extent) for one in counted))
    return sum(
        all(
            index.evaluate(dict(zip((one.var for one in counted), point, strict=True))) < limit
            for index, limit in conditions
        )
        for point in points
    )


def sums(
    statement: Statement, loops: tuple[Loop, ...] = (), conditions: tuple[Condition, ...] = ()
) -> Iterator[tuple[tuple[Loop, ...], tuple[Condition, ...]]]:
    """(loops, conditions) around every addition to what a store has."""
    if isinstance(statement, Store):
        value, own = statement.value, Load(statement.buffer, statement.indices)
        if isinstance(value, Op) and value.name == "add" and own in value.args:
            yield loops, conditions
    if isinstance(statement, Loop):
        loops = (*loops, statement)
    if isinstance(statement, Guard):
        conditions = (*conditions, *statement.conditions)
    for one in inside(statement):
        yield from sums(one, loops, conditions)
