"""How many tile registers of sums a kernel of AMX may hold along two axes."""

from __future__ import annotations

from tilewright_x86.instructions.tiles import ROWS

SUMS = 6
"""Tile registers that hold sums; two hold operands."""


def tile_counts(extent: int) -> list[int]:
    """Numbers of tiles that cut an axis evenly."""
    tiles = -(-extent // ROWS)
    return [n for n in range(1, SUMS + 1) if tiles % n == 0]


def best_counts(rows: int, columns: int) -> tuple[int, int]:
    """The numbers along two axes that read least for a product."""
    pairs = (
        (down, across)
        for down in tile_counts(rows)
        for across in tile_counts(columns)
        if down * across <= SUMS
    )
    return min(pairs, key=lambda pair: 1 / pair[0] + 1 / pair[1])
