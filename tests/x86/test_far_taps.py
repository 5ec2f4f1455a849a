"""Convolutions whose taps lie far apart."""

from __future__ import annotations

import numpy as np
import pytest
from answers import host, task_of

from tilewright.vocabulary.config import ConfigEntity
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.expressions.affine import Affine, Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Const, Load
from tilewright_tensor.ir.loop_ir import Guard, Loop, LoopProgram, Statement, Store, block, walk
from tilewright_x86.passes.whole_tiles import whole_tiles_apart

NAME = "conv2d_taps.x86"
PYRAMID = "conv2d(1x2048x28x28, 256x2048x3x3, padding={0}, dilation={0})"


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        *((PYRAMID.format(dilation), NAME) for dilation in (12, 24, 36)),
        *((PYRAMID.format(dilation), "conv2d_winograd.x86/F4") for dilation in (1, 2, 4, 8)),
        ("conv2d(1x256x65x65, 256x256x3x3, padding=36, dilation=36)", NAME),
        ("conv2d(1x256x65x65, 256x256x3x3, padding=12, dilation=12)", "conv2d_winograd.x86/F2"),
        ("conv2d(1x256x1x1, 256x256x3x3, padding=1)", NAME),
        ("conv2d(1x256x3x3, 256x256x3x3, padding=1, strides=2)", NAME),
        ("conv2d(1x256x7x7, 256x256x3x3, padding=1, strides=2)", "conv2d_direct.x86"),
        ("conv2d(1x256x28x28, 256x256x3x3, dilation=12)", "conv2d_direct.x86"),
    ],
)
@pytest.mark.parametrize("isa", ["avx2", "avx512"])
def test_taps_are_advised_where_margins_make_most_terms_zero(
    text: str, chosen: str, isa: str
) -> None:
    task = task_of(text, f"x86:isa={isa},threads=2")
    advised = host().fallback_config(task, host().space(task))
    assert advised.strategy == chosen


@pytest.mark.parametrize(
    "text",
    [
        "conv2d(1x64x28x28, 32x64x1x1) + relu()",
        "conv2d(1x64x7x7, 32x64x3x3, padding=1)",
        "conv2d(1x64x9x9, 64x1x3x3, padding=6, dilation=6, groups=64)",
    ],
    ids=["one tap", "few zeros", "depthwise"],
)
def test_other_convolutions_are_left_to_others(text: str) -> None:
    task = task_of(text, "x86:isa=avx2,threads=2")
    assert NAME not in {one.name for one in host().strategies(task)}


def lowered(text: str, **values: object) -> LoopProgram:
    """By the fallback on AVX2 with other values."""
    task = task_of(text, "x86:isa=avx2,threads=1")
    advised = host().implementation(NAME).fallback(task)
    config = ConfigEntity(NAME, {**advised.values, **values})
    assert host().space(task, NAME).is_valid(config)
    return host().lower(task, config)


def asks_pixels(loop: Loop) -> bool:
    return any(isinstance(one, Guard) for one in walk(loop.body))


def loops_over_channels(program: LoopProgram) -> list[Loop]:
    loops = [one for one in walk(program.body) if isinstance(one, Loop)]
    return [loop for loop in loops if ".ic.0" in loop.var.name]


@pytest.mark.parametrize(("rows", "columns"), [(1, 5), (2, 2)])
def test_tiles_that_a_tap_meets_as_a_whole_test_no_pixels(rows: int, columns: int) -> None:
    program = lowered(
        "conv2d(1x64x14x14, 16x64x3x3, padding=5, dilation=5)",
        tile_ow=(-(-14 // columns), columns),
        tile_oh=(14 // rows, rows),
        prefetch="none",
    )
    loops = loops_over_channels(program)
    assert any(not asks_pixels(loop) for loop in loops)
    assert any(asks_pixels(loop) for loop in loops), (
        "of columns 5 to 9, the last tap meets those before 9"
    )


def test_where_every_tile_is_met_as_a_whole_there_is_one_case() -> None:
    program = lowered(
        "conv2d(1x64x28x28, 16x64x3x3, padding=12, dilation=12)",
        tile_ow=(7, 4),
        tile_oh=(28, 1),
    )
    (loop,) = loops_over_channels(program)
    assert not asks_pixels(loop)


def counting(*conditions: tuple[Affine, int], besides: Statement | None = None) -> LoopProgram:
    """How often, of 7 taps, the conditions hold for each of 3 pixels of 5 tiles."""
    y = Buffer("y", (15,))
    place = (TILE.affine() * 3 + PIXEL,)
    once = Guard(conditions, Store(y, place, Load(y, place) + Const(1.0)))
    pixels = Loop(PIXEL, 3, "unrolled", once)
    taps = Loop(TAP, 7, "serial", block([pixels, *([besides] if besides else [])]))
    first = Loop(PIXEL, 3, "unrolled", Store(y, place, Const(0.0)))
    return LoopProgram("counts", (), (y,), Loop(TILE, 5, "serial", block([first, taps])))


TILE, TAP, PIXEL = Var("tile"), Var("tap"), Var("pixel")
READ = TILE.affine() * 3 + PIXEL + TAP.affine() * 4 - 12


@pytest.mark.parametrize(
    "conditions",
    [
        [(-READ, 1)],
        [(READ, 10)],
        [(-READ, 1), (READ, 15)],
        [(-READ, -4), (READ, 5)],
        [(-READ, 1), (READ, 15), (index(TAP) * 2 - PIXEL, 5)],
        [(-READ, 1), (READ // 2, 5)],
    ],
)
def test_cases_are_apart_and_leave_nothing_out(conditions: list[tuple[Affine, int]]) -> None:
    program = counting(*conditions)
    apart = whole_tiles_apart.run(program)
    assert apart.body != program.body
    assert np.array_equal(interpret(apart, [])[0], interpret(program, [])[0])


def test_a_loop_with_a_store_that_tests_nothing_stays_whole() -> None:
    y = Buffer("y", (15,))
    last = Store(y, (Affine((), 14),), Const(37.0))
    program = counting((READ, -100), besides=last)
    assert whole_tiles_apart.run(program).body == program.body
