"""Prefetches, spread over a convolution, of what its next tiles read.

Filters: all tiles of an image, or of a row, read the same ones, then the next ones. The first of
them would wait for filters that come from afar, the others find them in the cache. So each tile
fetches its share of the next filters: the memory is asked all the time, and never for more than it
gives.

Winograd's filters: the register tiles of a block read a panel of those of one point, then the next.

Pixels: a convolution of single pixels reads each but once for the filters of a tile, a line of
channels here and one there. Each tile fetches those of the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import prod

from tilewright_tensor.expressions.affine import Affine, Var, multiples
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Load, leaves
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Loop,
    LoopProgram,
    Prefetch,
    Statement,
    block,
    changed_inside,
    inside,
    stores,
    walk,
)
from tilewright_tensor.lowering.peel import ranges
from tilewright_tensor.lowering.program_pass import ProgramPass

_LINE_BYTES = 64

_Added = Callable[[Loop, Affine], list[Statement]]
"""What is to be done in the innermost rolled loop at the turn of that number."""


def fetch_next_filters(rows: int, columns: int, axes: slice) -> ProgramPass:
    """For a convolution in register tiles of rows times columns.

    axes   of the output, along which tiles share filters: those of the image, or its last one
    """
    run = partial(_fetching_next_filters, rows, columns, axes)
    return ProgramPass(f"fetch next filters, tiles of {rows} x {columns}", run)


def fetch_next_panel(rows: int, tiles: int) -> ProgramPass:
    """For Winograd's products in so many register tiles, of so many rows, for each panel."""
    run = partial(_fetching_next_panel, rows, tiles)
    return ProgramPass(f"fetch next panel, {tiles} tiles of {rows} rows", run)


def fetch_next_pixels(columns: int) -> ProgramPass:
    """For a convolution of single pixels in blocks of channels, tiles of one row."""
    run = partial(_fetching_next_pixels, columns)
    return ProgramPass(f"fetch next pixels, tiles of 1 x {columns}", run)


def _fetching_next_filters(
    rows: int, columns: int, axes: slice, program: LoopProgram
) -> LoopProgram:
    """The program of a convolution in register tiles of rows times columns.

    The first dimension of the filters is the outermost loop, and a tile reads all that lies at one
    place of it.
    """
    output, filters = program.outputs[0], program.operand("weight")
    extents = output.shape[axes]
    pixels, together = prod(extents), prod(filters.shape[1:])

    def fetching(tile: Statement) -> _Added:
        start = dict.fromkeys(ranges(tile), Affine())
        *place, column = (index.substitute(start) for index in _place(tile, output)[axes])
        now, *_ = (index.substitute(start) for index in _read(tile, filters))
        pixels_before = column * rows
        for axis, index in enumerate(place, 1):
            pixels_before = index * prod(extents[axis:]) + pixels_before
        first = pixels_before * (together // pixels) + together
        each = -(-together * rows * columns // (pixels * _turns(tile)))

        def added(_: Loop, turn: Affine) -> list[Statement]:
            indices = (now, *[Affine()] * (len(filters.shape) - 2), first + turn * each)
            return _lines(filters, indices, each)

        return added

    return _in_every_tile(program, fetching)


def _fetching_next_panel(rows: int, tiles: int, program: LoopProgram) -> LoopProgram:
    """The program of products whose filters lie panel after panel, a panel in the last axes."""
    filters = program.operand("weight")
    panel = prod(filters.shape[3:])

    def fetching(tile: Statement) -> _Added:
        start = dict.fromkeys(ranges(tile), Affine())
        *place, _ = (index.substitute(start) for index in _read(tile, filters))
        number, _ = multiples(_row(tile).substitute(start), rows)
        turns = _turns(tile)
        each = -(-panel // (tiles * turns))
        first = panel + number * (turns * each)

        def added(_: Loop, turn: Affine) -> list[Statement]:
            return _lines(filters, (*place, first + turn * each), each)

        return added

    return _in_every_tile(program, fetching)


def _fetching_next_pixels(columns: int, program: LoopProgram) -> LoopProgram:
    """The program of a convolution of single pixels in blocks of channels, tiles of one row."""
    image = program.operand("data")

    def fetching(tile: Statement) -> _Added:
        expanded = {var: Affine() for var in ranges(tile).keys() - _rolled(tile)}
        number, channels, row, column, _ = (
            index.substitute(expanded) for index in _read(tile, image)
        )

        def added(loop: Loop, _: Affine) -> list[Statement]:
            each = columns * image.shape[4] // loop.extent
            return _lines(image, (number, channels, row, column + columns, loop.var * each), each)

        return added

    return _in_every_tile(program, fetching)


def _in_every_tile(program: LoopProgram, fetching: Callable[[Statement], _Added]) -> LoopProgram:
    filters = program.operand("weight")

    def every_tile(statement: Statement) -> Statement:
        if isinstance(statement, Allocate) and statement.buffer.scope == "register":
            tile = statement.body
            if not _reads(tile, filters):
                return statement
            return replace(statement, body=_every_turn(tile, fetching(tile), Affine()))
        return changed_inside(statement, every_tile)

    return replace(program, body=every_tile(program.body))


def _lines(buffer: Buffer, indices: tuple[Affine, ...], elements: int) -> list[Statement]:
    """Fetches what begins there, so many elements long."""
    lines = range(0, elements * buffer.item_bytes, _LINE_BYTES)
    return [Prefetch(buffer, indices, line) for line in lines]


def _every_turn(statement: Statement, added: _Added, turn: Affine) -> Statement:
    if isinstance(statement, Loop) and statement.kind == "serial":
        turn = turn * statement.extent + statement.var
        if _turns(statement.body) == 1:
            return replace(statement, body=block([*added(statement, turn), statement.body]))
    return changed_inside(statement, lambda one: _every_turn(one, added, turn))


def _turns(statement: Statement) -> int:
    """How often the innermost rolled loop turns; 1 where there is none."""
    here = statement.extent if isinstance(statement, Loop) and statement.kind == "serial" else 1
    return here * max(map(_turns, inside(statement)), default=1)


def _rolled(statement: Statement) -> set[Var]:
    """Variables of the rolled loops."""
    loops = (one for one in walk(statement) if isinstance(one, Loop))
    return {loop.var for loop in loops if loop.kind == "serial"}


def _place(tile: Statement, output: Buffer) -> tuple[Affine, ...]:
    return next(store.indices for store in stores(tile) if store.buffer == output)


def _row(tile: Statement) -> Affine:
    """Of a product in local memory, by point, vector of filters, row."""
    return next(store.indices[2] for store in stores(tile) if store.buffer.scope == "local")


def _read(tile: Statement, buffer: Buffer) -> tuple[Affine, ...]:
    return _reads(tile, buffer)[0]


def _reads(tile: Statement, buffer: Buffer) -> list[tuple[Affine, ...]]:
    loads = (x for store in stores(tile) for x in leaves(store.value) if isinstance(x, Load))
    return [load.indices for load in loads if load.buffer == buffer]
