"""The default features: knob values (AutoTVM's type `knob`), tiles and the workload's size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, zip_longest
from typing import Any

import numpy as np

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.revisions import Revisions
from tilewright.vocabulary.task import Task
from tilewright_search.models.features import Features

Leaves = tuple[tuple[str, float], ...]
ALTERNATIVE = "alternative="
"""How the columns begin that tell which alternative a config is of."""


def present_column(column: str, revisions: Revisions) -> str:
    """The column under the present name of the alternative that it tells of, if it tells of one."""
    if not column.startswith(ALTERNATIVE):
        return column
    return f"{ALTERNATIVE}{revisions.present(column.removeprefix(ALTERNATIVE))}"


def knob_features(task: Task, configs: Sequence[ConfigEntity]) -> Features:
    """Numbers as signed log2(1 + |x|), words as one-hot columns, 0 for a knob that is not there.

    A list of numbers is taken for a split: `tile.N` is what its factors from the N-th innermost
    one on cover, and `tiles.N` what those of all splits cover together, for caches and registers
    hold products that a tree of single factors does not see. The workload's shapes and attributes
    are columns too, so that one model can learn from several tasks.
    """
    columns: dict[str, int] = {}
    workload = _workload_leaves(task)
    places: list[int] = []
    cells: list[tuple[str, float]] = []
    for place, config in enumerate(configs):
        before = len(cells)
        cells.append((f"{ALTERNATIVE}{config.strategy}", 1.0))
        together: list[float] = []
        for knob, value in config.values.items():
            leaves, tiles = _knob_leaves(knob, value)
            cells += leaves
            if tiles:
                together = [sum(pair) for pair in zip_longest(together, tiles, fillvalue=0.0)]
        cells += [(f"tiles.{level}", tile) for level, tile in enumerate(together, 1)]
        places += [place] * (len(cells) - before)
    names = [columns.setdefault(name, len(columns)) for name, _ in cells]
    matrix = np.zeros((len(configs), len(columns) + len(workload)), np.float32)
    matrix[places, names] = [number for _, number in cells]
    matrix[:, len(columns) :] = [number for _, number in workload]
    return Features((*columns, *(name for name, _ in workload)), matrix)


@lru_cache(maxsize=256)
def _workload_leaves(task: Task) -> Leaves:
    workload = task.workload
    shapes = [spec.shape for spec in workload.inputs]
    return (
        *_walk("workload.inputs", shapes),
        *_walk("workload.attributes", workload.attributes),
        *_walk("workload.epilogue", [op.operator for op in workload.epilogue]),
    )


@lru_cache(maxsize=1 << 16)
def _knob_leaves(knob: str, value: Any) -> tuple[Leaves, tuple[float, ...]]:
    """A knob's columns, and log2 of its tiles, of the innermost factor first."""
    name, tiles = f"knob.{knob}", _tiles(value)
    own = ((f"{name}.tile.{level}", tile) for level, tile in enumerate(tiles, 1))
    return (*_walk(name, value), *own), tiles


def _tiles(value: Any) -> tuple[float, ...]:
    """log2 of a split's products from the innermost factor out; the whole loop is left out."""
    if not isinstance(value, tuple) or not all(
        type(factor) is int and factor > 0 for factor in value
    ):
        return ()
    return tuple(accumulate(math.log2(factor) for factor in reversed(value[1:])))


def _walk(name: str, value: Any) -> list[tuple[str, float]]:
    if isinstance(value, int | float):  # a bool is its own number, 0 or 1
        return [(name, math.copysign(math.log2(1 + abs(value)), value))]
    if isinstance(value, Mapping):
        return [leaf for key, part in value.items() for leaf in _walk(f"{name}.{key}", part)]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [leaf for place, part in enumerate(value) for leaf in _walk(f"{name}.{place}", part)]
    return [(f"{name}={value}", 1.0)]
