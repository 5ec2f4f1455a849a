"""Tile sizes worth trying; they need not divide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any

from tilewright.space.entities.split import divisors
from tilewright.space.feasible.constraint import Expression, Knob
from tilewright.space.knobs import Knobs
from tilewright_tensor.expressions.tensor import Axis

_INNER = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28)
_MOST_WASTE = 1.15
_MIDDLE = (1, 2, 4)
_MOST_VECTORS = 8
_SHORT = 8
_REDUCTION_TILES = 512


def tile_knob(axis: str) -> str:
    """The name of the knob that tiles an axis."""
    return f"tile_{axis}"


def define_splits(knobs: Knobs, axis: Axis, options: Sequence[Sequence[int]]) -> Knob:
    """Declare the knob that tiles an axis: one of these splits."""
    return knobs.define_split(
        tile_knob(axis.name), axis.extent, num_outputs=len(options[0]), policy="candidate",
        candidate=options,
    )  # fmt: skip


def spatial_split(values: Mapping[str, Any], axis: Axis) -> tuple[int, ...]:
    """The chosen one of `spatial_splits`."""
    found: tuple[int, ...] = values.get(tile_knob(axis.name), (1, 1, 1, 1))
    return found


def reduction_split(values: Mapping[str, Any], axis: Axis) -> tuple[int, int]:
    """The chosen one of `reduction_splits`."""
    found: tuple[int, int] = values.get(tile_knob(axis.name), (1, axis.extent))
    return found


def product(parts: Sequence[Expression]) -> Expression:
    """Of one expression or more."""
    return reduce(lambda total, part: total * part, parts)


@lru_cache(maxsize=1024)
def spatial_splits(
    extent: int, unit: int, *, middle: bool, tiled: bool
) -> tuple[tuple[int, ...], ...]:
    """(outer, second, third, register tile) of a spatial axis, the third 1 without `middle`.

    Register tiles are multiples of `unit`, the vector width on the vector axis, and no wider than
    the axis: cut to it, their last vector would not stay in a register. Without `tiled` the
    register tile is one unit, where nothing is read again along the axis.
    """
    found: list[tuple[int, ...]] = []
    most = min(extent // unit, _MOST_VECTORS if unit > 1 else _INNER[-1])
    for count in _INNER if tiled else (1,):
        if count > most:
            break
        inner = count * unit
        tiles = -(-extent // inner)
        if tiles * inner > _MOST_WASTE * unit * -(-extent // unit):
            continue
        exact = tiles * inner == extent
        for third in _MIDDLE if middle else (1,):
            if third > 1 and (not exact or tiles % third):
                continue
            rest = tiles // third
            found += [(rest // second, second, third, inner) for second in divisors(rest)]
    return tuple(found)


@lru_cache(maxsize=1024)
def reduction_splits(extent: int, *, whole: bool) -> tuple[tuple[int, int], ...]:
    """(outer, inner) of a reduce axis; divisors only. `whole`: not cut at all."""
    if whole or extent == 1:
        return ((1, extent),)
    if extent < _SHORT:
        return ((1, extent), (extent, 1))
    inner = [n for n in divisors(extent) if n <= _REDUCTION_TILES or n == extent]
    return tuple((extent // n, n) for n in inner)
