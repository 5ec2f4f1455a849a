"""Convolutions and pooling leave out what padding would add."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.expressions.affine import Affine, Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Const, IndexValue, Load, Op, Value, lt, select
from tilewright_tensor.ir.facts import Facts
from tilewright_tensor.ir.loop_ir import (
    Block,
    Guard,
    Loop,
    LoopProgram,
    Statement,
    Store,
    inside,
    walk,
)
from tilewright_tensor.lowering.peel import ranges
from tilewright_x86.machine.isa import ISAS
from tilewright_x86.passes.skipped_terms import skip_neutral_terms
from tilewright_x86.text.emit import emit


def lowered(text: str, **tile: object) -> LoopProgram:
    """A convolution on AVX-512 by its fallback with another tile."""
    host = PluginHost.load()
    task = Task(host.reference("conv2d").parse(text, ""), Target.parse("x86:isa=avx512,threads=1"))
    values = host.implementation("conv2d_direct.x86").fallback(task).values
    return host.lower(task, ConfigEntity("conv2d_direct.x86", {**values, **tile}))


@pytest.fixture(scope="module")
def convolution() -> LoopProgram:
    """Three taps in each direction over an image of 5x7, one row and all columns in a tile."""
    return lowered("(1x16x5x7, 32x16x3x3, padding=1)", tile_oh=(5, 1), tile_ow=(1, 7))


@pytest.fixture(scope="module")
def wide_convolution() -> LoopProgram:
    """Five taps at every second of 29 columns, six tiles of two results and half a one."""
    return lowered("(1x16x4x29, 32x16x3x5, strides=2, padding=2)", tile_oh=(3, 1), tile_ow=(8, 2))


def guards(statement: Statement, around: tuple[str, ...] = ()) -> Iterator[tuple[str, set[str]]]:
    """(innermost loop around it, variables it tests) of every guard."""
    if isinstance(statement, Guard):
        variables = (index.variables() for index, _ in statement.conditions)
        yield around[-1], {var.name for found in variables for var in found}
    if isinstance(statement, Loop):
        around = (*around, statement.var.name)
    for one in inside(statement):
        yield from guards(one, around)


def test_no_padded_copy_of_the_image_is_made(convolution: LoopProgram) -> None:
    assert convolution.workspace == ()
    assert "select" not in str(convolution)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_no_padded_copy_is_made_for_a_depthwise_convolution(dtype: str) -> None:
    host = PluginHost.load()
    operands = f"(1x32x9x28:{dtype}, 32x1x3x3:{dtype}, padding=1, groups=32)"
    workload = host.reference("conv2d").parse(operands, "")
    task = Task(workload, Target.parse("x86:isa=avx512,threads=1"))
    config = host.implementation("conv2d_depthwise.x86").fallback(task)
    program = host.lower(task, config)
    assert program.workspace == ()
    assert "select" not in str(program)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(
    "pooling",
    [
        "max_pool2d(1x32x9x28:{}, pool_size=3, padding=1)",
        "avg_pool2d(1x32x9x28:{}, pool_size=3, padding=1)",
        "avg_pool2d(1x32x9x28:{}, pool_size=3, padding=1, count_include_pad=True)",
    ],
)
def test_no_padded_copy_is_made_for_pooling(pooling: str, dtype: str) -> None:
    host = PluginHost.load()
    operator, _, operands = pooling.format(dtype).partition("(")
    workload = host.reference(operator).parse(f"({operands}", "")
    task = Task(workload, Target.parse("x86:isa=avx512,threads=1"))
    program = host.lower(task, host.implementation("pool2d.x86").fallback(task))
    assert program.workspace == ()
    assert "select" not in str(program)


@pytest.mark.parametrize("filters", [32, 24], ids=["whole vectors", "half a vector"])
def test_rows_are_tested_outside_of_the_loops_over_columns_and_channels(filters: int) -> None:
    """Also where the last vector of filters is not full, which is tested inside of them."""
    program = lowered(f"(1x16x5x7, {filters}x16x3x3, padding=1)", tile_oh=(5, 1), tile_ow=(1, 7))
    rows = [loop for loop, tested in guards(program.body) if any(v.endswith("kh") for v in tested)]
    assert rows
    assert all(loop.endswith("kh") for loop in rows)


X, W = Buffer("x", (8,)), Buffer("w", (8,))
INPUTS = [np.arange(1, 9, dtype=np.float32), np.arange(2, 10, dtype=np.float32)]


def sums(value: Callable[[Affine], Value], combined: str = "add") -> LoopProgram:
    """y[i] = the sum (or another combination) over k of a value of i + k."""
    y, i, k = Buffer("y", (6,)), Var("i"), Var("k")
    place = (index(i),)
    added = Store(y, place, Op(combined, (Load(y, place), value(index(i) + k)), "float32"))
    body = Loop(k, 3, "serial", added)
    first = Store(y, place, Const(0.5))
    return LoopProgram("sums", (X, W), (y,), Loop(i, 6, "serial", Block((first, body))))


def inside_four(at: Affine, otherwise: float = 0.0) -> Value:
    return select(lt(IndexValue(at), 4), Load(X, (at,)), otherwise)


def test_maxima_are_guarded_and_stay_what_they_were() -> None:
    program = sums(lambda at: inside_four(at, -np.inf), "max")
    skipped = skip_neutral_terms.run(program)
    assert list(guards(skipped.body))
    assert np.array_equal(interpret(skipped, INPUTS)[0], interpret(program, INPUTS)[0])


@pytest.mark.parametrize(
    "value",
    [
        inside_four,
        lambda at: inside_four(at) * Load(W, (at,)),
        lambda at: Load(W, (at,)) * inside_four(at),
    ],
)
def test_sums_are_guarded_and_stay_what_they_were(value: Callable[[Affine], Value]) -> None:
    program = sums(value)
    skipped = skip_neutral_terms.run(program)
    assert list(guards(skipped.body))
    assert np.array_equal(interpret(skipped, INPUTS)[0], interpret(program, INPUTS)[0])


@pytest.mark.parametrize(
    "program",
    [
        sums(lambda at: inside_four(at, 1.0)),
        sums(lambda at: inside_four(at) + Load(W, (at,))),
        sums(inside_four, "max"),
        sums(lambda at: inside_four(at, -np.inf)),
        sums(lambda at: inside_four(at, -np.inf) * Load(W, (at,)), "max"),
        sums(lambda at: select(lt(Load(W, (at,)), 4.0), Load(X, (at,)), 0.0)),
    ],
)
def test_what_is_not_zero_outside_is_left_alone(program: LoopProgram) -> None:
    assert skip_neutral_terms.run(program) == program


def test_guarded_code_agrees_with_the_interpreter(
    convolution: LoopProgram, isa: str, run_x86: Callable[..., Any]
) -> None:
    random = np.random.default_rng(0)
    inputs = [random.uniform(-1, 1, b.shape).astype(np.float32) for b in convolution.inputs]
    (got,), (expected,) = run_x86(convolution, inputs, isa), interpret(convolution, inputs)
    np.testing.assert_allclose(got, expected, rtol=2e-6, atol=2e-5)


def test_guarded_code_with_tiles_apart_agrees_with_the_interpreter(
    wide_convolution: LoopProgram, isa: str, run_x86: Callable[..., Any]
) -> None:
    test_guarded_code_agrees_with_the_interpreter(wide_convolution, isa, run_x86)


def loops(statement: Statement) -> Iterator[Loop]:
    return (one for one in walk(statement) if isinstance(one, Loop))


def conditions(statement: Statement) -> Iterator[tuple[Affine, int]]:
    guards = (one for one in walk(statement) if isinstance(one, Guard))
    return (condition for guard in guards for condition in guard.conditions)


def test_only_tiles_at_the_edges_of_a_row_test_their_columns(
    wide_convolution: LoopProgram,
) -> None:
    facts = Facts(ranges(wide_convolution.body))
    (tiles,) = (loop for loop in loops(wide_convolution.body) if loop.var.name == "conv2d.ow.0")
    assert 4 <= tiles.extent < 7
    tested = [c for c in conditions(tiles) if tiles.var in c[0].variables()]
    assert tested
    assert all(facts.holds(condition) for condition in tested)
    assert not all(facts.holds(condition) for condition in conditions(wide_convolution.body))


def test_code_is_marked_where_values_in_registers_go_on_behind_guards(
    convolution: LoopProgram,
) -> None:
    without = lowered("(1x16x7x9, 32x16x3x3)", tile_oh=(5, 1), tile_ow=(1, 7))
    assert emit(convolution, ISAS[0], 1).joins
    assert not emit(without, ISAS[0], 1).joins
