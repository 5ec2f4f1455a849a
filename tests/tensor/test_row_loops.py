"""Loops that end early where fewer rows are asked for than a kernel was made for."""

from __future__ import annotations

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
    *loops, store = [one for one in walk(made.body) if isinstance(one, Loop | Store)]
    found = set()

    def enter(depth: int, variables: dict[Var, int]) -> None:
        if depth == len(loops):
            found.add(store.indices[0].evaluate(variables) // within)
            return
        one = loops[depth]
        end = min(one.extent, one.rows.of(rows, variables)) if one.rows else one.extent
        for step in range(end):
            enter(depth + 1, {**variables, one.var: step})

    enter(0, {})
    return found


@given(
    tile=st.integers(1, 5),
    fused=st.integers(1, 4),
    within=st.integers(1, 3),
    count=st.integers(1, 12),
    kind=st.sampled_from(["unrolled", "serial"]),
    data=st.data(),
)
def test_no_row_that_is_asked_for_is_left_out_and_few_others_are_written(
    tile, fused, within, count, kind, data
):
    """A fused loop over tiles of rows and columns, and one in the tile, which may end early too."""
    rows = data.draw(st.integers(1, count))
    tiles = -(-count * within // tile)
    out = Buffer("out", (tiles * tile, fused))
    bounds = {I: (0, tiles * fused - 1), J: (0, tile - 1)}
    outer = floor_div(index(I), fused, bounds) if fused > 1 else index(I)
    column = mod(index(I), fused, bounds) if fused > 1 else index(0)
    store = Store(out, (outer * tile + index(J), column), ONE)
    body = Loop(I, tiles * fused, "parallel", Loop(J, tile, kind, store))
    marked = with_row_loops(program(body, out), [OutputRows(0, within)])
    found = written(marked, rows, within)
    assert set(range(rows)) <= found
    whole = tile if kind == "unrolled" else 1
    assert max(found) <= (rows * within - 1 + whole - 1) // within


def test_each_dimension_ends_the_loop_that_goes_through_its_rows():
    out = Buffer("out", (4, 6, 8))
    store = Store(out, (index(I), index(J) * 2 + index(K), index(0)), ONE)
    body = Loop(I, 4, "serial", Loop(J, 3, "serial", Loop(K, 2, "vectorized", store)))
    found = counts(program(body, out), OutputRows(0, 1, 0), OutputRows(1, 1, 1))
    assert found == {"i": RowCount(1, 1), "j": RowCount(1, 2, dimension=1), "k": None}


def test_a_loop_counts_from_where_those_around_it_are_along_another_dimension_too():
    out = Buffer("out", (4, 6))
    bounds = {I: (0, 7)}
    rows, tile = floor_div(index(I), 2, bounds), mod(index(I), 2, bounds)
    store = Store(out, (rows, tile * 3 + index(J)), ONE)
    body = Loop(I, 8, "parallel", Loop(J, 3, "serial", store))
    found = counts(program(body, out), OutputRows(0, 1, 0), OutputRows(1, 1, 1))
    assert found == {"i": RowCount(1, 1, 2), "j": RowCount(1, 1, 1, 1, 1, tile * 3)}
    assert [found["j"].of(4, {I: at}) for at in (0, 1, 2)] == [4, 1, 4]


def test_a_last_tile_counts_from_where_it_begins():
    out = Buffer("out", (17, 2))
    stores = [Store(out, (index(I) + first, index(0)), ONE) for first in (15, 16)]
    found = counts(program(Loop(I, 2, "serial", Block((*stores,))), out))
    assert found == {"i": RowCount(1, 1, before=index(15))}
    assert [found["i"].of(rows, {}) for rows in (5, 16, 17)] == [1, 1, 2]


def test_stores_that_lie_differently_behind_loops_around_count_what_is_common():
    out = Buffer("out", (8, 2))
    stores = [Store(out, (index(I) * scale + index(J), index(0)), ONE) for scale in (2, 1)]
    body = Loop(I, 3, "unrolled", Loop(J, 2, "serial", Block((*stores,))))
    assert counts(program(body, out)) == {"i": None, "j": RowCount(1, 1)}


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
