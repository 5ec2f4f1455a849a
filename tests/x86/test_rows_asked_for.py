"""Networks whose kernels leave out the rows that nobody asked for."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.vocabulary.target import Target
from tilewright_tensor.expressions.affine import Var, floor_div, index, mod
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Const, Load, Op
from tilewright_tensor.ir.loop_ir import Loop, LoopKind, LoopProgram, OutputRows, Store
from tilewright_tensor.ir.network_program import KernelCall, NetworkBuffer, NetworkProgram
from tilewright_x86.backend import X86Backend

ROWS, COLUMNS = 7, 5


def program(first: LoopKind, second: LoopKind, *, columns_first: bool) -> LoopProgram:
    """y = x + 1."""
    x, y, i, j = *(Buffer(n, (ROWS, COLUMNS)) for n in "xy"), Var("i"), Var("j")
    place = (index(i), index(j))
    body = Store(y, place, Op("add", (Load(x, place), Const(1.0)), "float32"))
    order = [(j, COLUMNS), (i, ROWS)] if columns_first else [(i, ROWS), (j, COLUMNS)]
    for (var, extent), kind in zip(order[::-1], (second, first), strict=True):
        body = Loop(var, extent, kind, body)
    return LoopProgram("add", (x,), (y,), body)


def network(of: LoopProgram) -> NetworkProgram:
    shape = of.outputs[0].shape
    buffers = (
        NetworkBuffer("x", shape, "float32", "input"),
        NetworkBuffer("y", shape, "float32", "output"),
    )
    rows = (OutputRows(0, dimension=0), OutputRows(1, dimension=1))
    call = KernelCall("only", of, ("x", "y"), rows=rows)
    return NetworkProgram("net", buffers, (call,), 0, 64, shape)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("kinds", "columns_first"),
    [
        (("parallel", "serial"), False),
        (("serial", "serial"), True),
        (("serial", "parallel"), True),
    ],
)
def test_rows_of_both_dimensions_that_nobody_asked_for_are_not_written(
    threads, kinds, columns_first
):
    backend = X86Backend()
    linked = network(program(*kinds, columns_first=columns_first))
    artifact = backend.link(linked, Target("x86", {"threads": str(threads)}))
    kernel = backend.load(artifact, backend.probe()[0])
    x = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    poison = np.full_like(x, np.nan)
    kernel.bind([x, np.zeros(64, np.uint8), poison], {})
    for asked in ((1, 1), (3, COLUMNS), (ROWS, 2), (6, 4), None):
        rows, columns = asked or (ROWS, COLUMNS)
        kernel.write(2, poison)
        kernel.take_rows(asked)
        kernel.launch()
        answer = kernel.read(2)
        np.testing.assert_array_equal(answer[:rows, :columns], x[:rows, :columns] + 1)
        assert np.isnan(answer).sum() == x.size - rows * columns
    kernel.close()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("asked", "more"), [((5, 4), 0), ((1, 6), 0), ((6, 2), 6), ((3, 3), 3)])
def test_tiles_of_a_fused_loop_end_behind_the_last_rows_of_both_dimensions(threads, asked, more):
    """`more` elements are written besides: each row of a tile has one column at least."""
    x, y, tile, i, j = *(Buffer(n, (6, 6)) for n in "xy"), *map(Var, ("tile", "i", "j"))
    bounds = {tile: (0, 5)}
    place = floor_div(index(tile), 2, bounds) * 2 + i, mod(index(tile), 2, bounds) * 3 + j
    store = Store(y, place, Op("add", (Load(x, place), Const(1.0)), "float32"))
    body = Loop(tile, 6, "parallel", Loop(i, 2, "serial", Loop(j, 3, "serial", store)))
    backend = X86Backend()
    linked = network(LoopProgram("tiles", (x,), (y,), body))
    artifact = backend.link(linked, Target("x86", {"threads": str(threads)}))
    kernel = backend.load(artifact, backend.probe()[0])
    given = np.arange(36, dtype=np.float32).reshape(6, 6)
    kernel.bind([given, np.zeros(64, np.uint8), np.full_like(given, np.nan)], {})
    kernel.take_rows(asked)
    kernel.launch()
    answer, (rows, columns) = kernel.read(2), asked
    np.testing.assert_array_equal(answer[:rows, :columns], given[:rows, :columns] + 1)
    assert np.isfinite(answer).sum() == rows * columns + more
    kernel.close()


def test_more_rows_than_there_are_end_where_the_loops_do():
    backend = X86Backend()
    artifact = backend.link(
        network(program("serial", "serial", columns_first=False)), Target("x86")
    )
    kernel = backend.load(artifact, backend.probe()[0])
    x = np.ones((ROWS, COLUMNS), np.float32)
    kernel.bind([x, np.zeros(64, np.uint8), np.zeros_like(x)], {})
    kernel.take_rows((9, 9))
    kernel.launch()
    np.testing.assert_array_equal(kernel.read(2), x + 1)
    assert kernel.find_overrun() == ""
    kernel.close()
