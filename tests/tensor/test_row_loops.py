"""Loops that end early where fewer rows are asked for than a kernel was made for."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright_tensor.expressions.affine import Affine, Var, floor_div, index, mod
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Const
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Block,
    Loop,
    LoopProgram,
    OutputRows,
    RowCount,
    Statement,
    Store,
    walk,
)
from tilewright_tensor.ir.row_loops import with_row_loops

I, J, K = Var("i"), Var("j"), Var("k")
ONE = Const(1.0, "float32")


def program(body: Statement, out: Buffer, *workspace: Buffer) -> LoopProgram:
    return LoopProgram("p", (), (out,), body, workspace)


def counts(made: LoopProgram, *rows: OutputRows) -> dict[str, RowCount | None]:
    marked = with_row_loops(made, rows or (OutputRows(0),))
    return {one.var.name: one.rows for one in walk(marked.body) if isinstance(one, Loop)}


def written(made: LoopProgram, rows: int, within: int) -> set[int]:
    """The rows that are written by iterations before the ends."""
    loops = [one for one in walk(made.body) if isinstance(one, Loop)]
    (store,) = [one for one in walk(made.body) if isinstance(one, Store)]
    ends = [min(one.extent, one.rows.of(rows)) if one.rows else one.extent for one in loops]
    points = product(*map(range, ends))
    variables = [one.var for one in loops]
    place = store.indices[0]
    return {place.evaluate(dict(zip(variables, at, strict=True))) // within for at in points}


@given(
    tile=st.integers(1, 5),
    fused=st.integers(1, 4),
    within=st.integers(1, 3),
    count=st.integers(1, 12),
    data=st.data(),
)
def test_no_row_that_is_asked_for_is_left_out_and_few_others_are_written(
    tile, fused, within, count, data
):
    """A fused loop over tiles of rows and columns, and one in the tile."""
    rows = data.draw(st.integers(1, count))
    tiles = -(-count * within // tile)
    out = Buffer("out", (tiles * tile, fused))
    bounds = {I: (0, tiles * fused - 1), J: (0, tile - 1)}
    outer = floor_div(index(I), fused, bounds) if fused > 1 else index(I)
    column = mod(index(I), fused, bounds) if fused > 1 else index(0)
    store = Store(out, (outer * tile + index(J), column), ONE)
    body = Loop(I, tiles * fused, "parallel", Loop(J, tile, "unrolled", store))
    marked = with_row_loops(program(body, out), [OutputRows(0, within)])
    found = written(marked, rows, within)
    assert set(range(rows)) <= found
    assert max(found) <= (rows * within - 1 + tile - 1) // within


def test_each_dimension_ends_the_loop_that_goes_through_its_rows():
    out = Buffer("out", (4, 6, 8))
    store = Store(out, (index(I), index(J) * 2 + index(K), index(0)), ONE)
    body = Loop(I, 4, "serial", Loop(J, 3, "serial", Loop(K, 2, "vectorized", store)))
    found = counts(program(body, out), OutputRows(0, 1, 0), OutputRows(1, 1, 1))
    assert found == {"i": RowCount(1, 1), "j": RowCount(1, 2, dimension=1), "k": None}


SCRATCH, OUT = Buffer("scratch", (4,)), Buffer("out", (4, 4))
KEPT = Store(SCRATCH, (index(I),), ONE)


def to_out(place: Affine) -> Store:
    return Store(OUT, (place, index(0)), ONE)


@pytest.mark.parametrize(
    "body",
    [
        Loop(I, 4, "serial", Block((KEPT, to_out(index(I))))),
        Loop(I, 4, "serial", to_out(index(I) * -1 + 3)),
        Loop(I, 4, "serial", to_out(mod(index(I) + 2, 4, {I: (0, 3)}))),
        Loop(I, 4, "serial", Block((to_out(index(I)), to_out(index(0))))),
        Loop(I, 4, "vectorized", to_out(index(I))),
    ],
    ids=["workspace", "backwards", "turned around", "one row in all", "at once"],
)
def test_loops_that_may_write_a_row_that_counts_run_to_their_ends(body):
    assert counts(program(body, OUT, SCRATCH)) == {"i": None}


def test_memory_that_lives_in_an_iteration_is_left_out_with_it():
    local = Buffer("local", (4,), scope="local")
    inside = Block((Store(local, (index(0),), ONE), to_out(index(I))))
    body = Loop(I, 4, "serial", Allocate(local, inside))
    assert counts(program(body, OUT)) == {"i": RowCount(1, 1)}
