"""The default features: knob values (AutoTVM's type `knob`), tiles and the workload's size."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.revisions import Revisions
from tilewright.vocabulary.task import Task
from tilewright_search.models.features import Features, Floats

Leaves = tuple[tuple[str, float], ...]
_Told = tuple[list[int], Floats]  # numbers of columns, and what is in them

_REMEMBERED = 1 << 16
_log = logging.getLogger("tilewright")

ALTERNATIVE = "alternative="
"""How the columns begin that tell which alternative a config is of."""


def present_column(column: str, revisions: Revisions) -> str:
    """The column under the present name of the alternative that it tells of, if it tells of one."""
    if not column.startswith(ALTERNATIVE):
        return column
    return f"{ALTERNATIVE}{revisions.present(column.removeprefix(ALTERNATIVE))}"


def knob_features(task: Task, configs: Sequence[ConfigEntity]) -> Features:
    """The rows of a `KnobTable` of their own."""
    columns: dict[str, int] = {}
    rows = KnobTable(columns).rows(task, configs)
    return Features(tuple(columns), rows)


class KnobTable:
    """Numbers as signed log2(1 + |x|), words as one-hot columns, 0 for a knob that is not there.

    A list of numbers is taken for a split: `tile.N` is what its factors from the N-th innermost
    one on cover, and `tiles.N` what those of all splits cover together, for caches and registers
    hold products that a tree of single factors does not see. The workload's shapes and attributes
    are columns too, so that one model can learn from several tasks.

    A search looks at thousands of configs of few different values: what a value says is a line of
    a table, written once, and a config is some lines of it.

    columns   numbers of columns by name; new ones are added to it
    """

    def __init__(self, columns: dict[str, int]) -> None:
        self._columns = columns
        self._workloads: dict[str, _Told] = {}
        self._clear()

    def rows(self, task: Task, configs: Sequence[ConfigEntity]) -> Floats:
        """One row a config, in the columns."""
        if len(self._lines) > _REMEMBERED:
            self._clear()
        lines = [self._lines_of(config) for config in configs]
        # One row a knob, one column a config: each adds to the tiles after the one before it.
        size = (max(map(len, lines), default=0), len(lines))
        taken = np.array([*zip_longest(*lines, fillvalue=0)], np.intp).reshape(size)
        together = np.zeros((len(configs), self._tiles.shape[1]))
        for line in taken:
            together += self._tiles[line]
        tiles = self._places([f"tiles.{level + 1}" for level in range(together.shape[1])])
        places, numbers = self._workload(task)
        rows = np.zeros((len(configs), len(self._columns) + 1), np.float32)
        rows[np.arange(len(configs))[:, np.newaxis], self._where[taken]] = self._numbers[taken]
        rows[:, tiles], rows[:, places] = together, numbers
        return rows[:, :-1]  # the last column took what lines have no number for

    def _clear(self) -> None:
        """Forget every line; the first is of no knob."""
        self._lines: dict[object, int] = {}
        self._where = np.full((1, 1), -1, np.intp)
        self._numbers = np.zeros((1, 1), np.float32)
        self._tiles = np.zeros((1, 1))

    def _lines_of(self, config: ConfigEntity) -> list[int]:
        find, strategy = self._lines.get, config.strategy
        first = find(strategy) or self._add(strategy, ((f"{ALTERNATIVE}{strategy}", 1.0),), ())
        return [
            first,
            *[find(item) or self._add(item, *_leaves(*item)) for item in config.values.items()],
        ]

    def _add(self, key: object, leaves: Leaves, tiles: Sequence[float]) -> int:
        line = self._lines[key] = len(self._lines) + 1
        places, numbers = self._told(leaves)
        self._where = _with_line(self._where, line, places, -1)
        self._numbers = _with_line(self._numbers, line, numbers, 0)
        self._tiles = _with_line(self._tiles, line, tiles, 0)
        return line

    def _workload(self, task: Task) -> _Told:
        if task.key not in self._workloads:
            self._workloads[task.key] = self._told(_workload_leaves(task))
        return self._workloads[task.key]

    def _told(self, leaves: Leaves) -> _Told:
        names = [name for name, _ in leaves]
        return self._places(names), finite(names, np.array([[number for _, number in leaves]]))[0]

    def _places(self, names: Sequence[str]) -> list[int]:
        return [self._columns.setdefault(name, len(self._columns)) for name in names]


def finite(names: Sequence[str], rows: NDArray[Any]) -> Floats:
    """The rows with 0 in place of what is no finite number, of which it warns once a column."""
    # As numbers of twice the precision, since a feature may overflow: then it is none either.
    fine = np.abs(np.asarray(rows, np.float64)) < np.finfo(np.float32).max
    if not fine.all():
        _say_that_it_is_no_number(names[int((~fine).any(axis=0).argmax())])
    return np.where(fine, rows, 0).astype(np.float32)


@cache
def _say_that_it_is_no_number(name: str) -> None:
    _log.warning("the feature '%s' is not always a finite number: cost models see 0 there", name)


def _with_line(table: NDArray[Any], line: int, values: Any, fill: int) -> NDArray[Any]:
    """The table with a line written, made larger where that has no room."""
    height, width = table.shape
    if line >= height or len(values) > width:
        size = (2 * line if line >= height else height, max(width, len(values)))
        larger = np.full(size, fill, table.dtype)
        larger[:height, :width] = table
        table = larger
    table[line, : len(values)] = values
    return table


def _workload_leaves(task: Task) -> Leaves:
    workload = task.workload
    shapes = [spec.shape for spec in workload.inputs]
    return (
        *_walk("workload.inputs", shapes),
        *_walk("workload.attributes", workload.attributes),
        *_walk("workload.epilogue", [op.operator for op in workload.epilogue]),
    )


def _leaves(knob: str, value: Any) -> tuple[Leaves, tuple[float, ...]]:
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
