"""Where rows lie in a stage of an operator's definition, and what one of them computes.

An axis that has rows is taken apart into `(before, row, within)`. Put into the indexes of the
definition, a row must come out again as the row of everything that is read, and stand nowhere else.
Of several such axes, as those of a matrix of scores, each has a row of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from tilewright_tensor.evaluation.tails import End, Known, Number, tail_of
from tilewright_tensor.expressions.affine import Affine, Bounds, Element, Var, divided, index
from tilewright_tensor.expressions.expr import (
    Const,
    IndexValue,
    Op,
    Read,
    Value,
    substituted,
    values_inside,
)
from tilewright_tensor.expressions.tensor import Tensor

_MOST_AXES = 2
"""Of a tensor's axes that have rows."""
_PARTS = [tuple(Var(f"{name}{n}'") for name in ("before", "row", "within")) for n in range(3)]
"""The parts of axes; no axis of a definition has such a name. Two of a tensor, one reduced."""
_ROWS = [row for _, row, _ in _PARTS]

Tails = Mapping[int, Number]
"""By axis that has rows: what all elements beyond the last row are, where that is known."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Where rows lie: element i of the axis is of row `i // within % n`."""

    axis: int
    within: int = 1


class MixedError(Exception):
    """A row of a stage depends on others."""


@dataclass
class StageRows:
    """What is known of the tensors of a definition, of so many rows; stages are added in order.

    even         axes of a constant of which any row may be read
    values       of constants of one element
    independent  no row has depended on another so far, nor on its own number
    """

    count: int
    rows: dict[Tensor, tuple[Rows, ...]]
    tails: dict[Tensor, Tails]
    even: Mapping[Tensor, frozenset[int]]
    values: Mapping[Tensor, Number]
    independent: bool = True

    def add(self, stage: Tensor) -> Any:
        """What a row of it computes, with the first places of rows for which the proof goes
        through.
        """
        for split in self._splits(stage):
            try:
                return self._with(stage, split)
            except MixedError:
                continue
        raise MixedError

    def _splits(self, stage: Tensor) -> Iterator[tuple[Rows, ...]]:
        """Axes that may be rows', reduced ones counted behind the stage's own; fewest first."""
        own = range(len(stage.shape))
        for axis in own:
            for within in self._withins(stage.shape[axis]):
                yield (Rows(axis, within),)
        yield ()
        # Several at once: as what is read has them, since there are very many otherwise.
        read = [one.within for r in stage.reads for one in self.rows.get(r.tensor, ())]
        withins = dict.fromkeys([1, *read])
        extents = [*stage.shape, *(axis.extent for axis in stage.reduce_axes)]
        single = [
            [Rows(axis, n) for n in withins if extent % (self.count * n) == 0]
            for axis, extent in enumerate(extents)
        ]
        reduced: list[tuple[Rows, ...]] = [()]
        reduced += [(one,) for of_axis in single[len(stage.shape) :] for one in of_axis]
        for last in reduced:
            for number in range(0 if last else 2, _MOST_AXES + 1):
                for axes in combinations(own, number):
                    for chosen in product(*(single[axis] for axis in axes)):
                        yield (*chosen, *last)

    def _withins(self, extent: int) -> Iterator[int]:
        inner = extent // self.count if extent % self.count == 0 else 0
        return (n for n in range(1, inner + 1) if inner % n == 0)

    def _with(self, stage: Tensor, split: tuple[Rows, ...]) -> Any:
        every = (*stage.axes, *stage.reduce_axes)
        bounds = {axis.var: (0, axis.extent - 1) for axis in every}
        values = {axis.var: index(0) for axis in every if axis.extent == 1}
        inner = [axis.extent for axis in every]
        for one, (before, row, within) in zip(split, _PARTS, strict=False):
            axis = every[one.axis]
            parts = (
                (before, axis.extent // (self.count * one.within)),
                (row, self.count),
                (within, one.within),
            )
            bounds |= {part: (0, extent - 1) for part, extent in parts}
            position = index(0)
            for part, extent in parts:
                position = position * extent + (part if extent > 1 else 0)
            values[axis.var] = position
            inner[one.axis] = axis.extent // self.count
        assert stage.body is not None
        body = substituted(stage.body, values, bounds)
        words = words_of(body, bounds, self)
        told = {part[0] for word in words for part in word if isinstance(part, tuple)}
        if not told >= {*range(len(split))}:
            raise MixedError  # what nothing is read along is no rows'
        self._check_reduced(stage, split, body, bounds)
        placed = tuple(one for one in split if one.axis < len(stage.shape))
        tails = {}
        # Of a sum over other rows nothing is known: it goes on beyond the last of those.
        followed = placed == split and any(self.tails.get(read.tensor) for read in stage.reads)
        for number, one in enumerate(placed if followed else ()):
            end = self._tail(body, _ROWS[number], bounds)
            if not isinstance(end, Known) and _combined(stage, end):
                tails[one.axis] = end
        if placed:
            self.rows[stage], self.tails[stage] = placed, tails
        self.independent &= len(split) == 1 and len(placed) == 1 and None not in told
        return (*kind_of(stage), split, tuple(inner), words)

    def _check_reduced(
        self, stage: Tensor, split: tuple[Rows, ...], body: Value, bounds: Bounds
    ) -> None:
        """Raise MixedError unless what lies beyond the last row changes no sum of rows."""
        for number, one in enumerate(split):
            reduced = one.axis >= len(stage.shape)
            if reduced and self._tail(body, _ROWS[number], bounds) != neutral(stage):
                raise MixedError

    def _tail(self, body: Value, row: Var, bounds: Bounds) -> End:
        """What the body is where this row is beyond the last, and others are not."""

        def of_read(read: Read) -> End:
            axes = [
                axis
                for axis, found in _row_places(read, bounds, self).items()
                if found == row.affine()
            ]
            if not axes:
                return self.values.get(read.tensor, Known.GIVEN)
            known = self.tails.get(read.tensor, {}) if len(axes) == 1 else {}
            return known.get(axes[0], Known.NOTHING)

        return tail_of(body, of_read)


def kind_of(stage: Tensor) -> tuple[str, str | None]:
    """Its dtype, and how it reduces."""
    return stage.dtype, stage.combiner.name if stage.combiner else None


def neutral(stage: Tensor) -> Number:
    """What changes nothing in its reduction."""
    assert stage.combiner is not None
    return stage.combiner.identity(stage.dtype).value


def _combined(stage: Tensor, end: Number) -> bool:
    """Whether elements that are all this are this together."""
    name = stage.combiner.name if stage.combiner else "max"
    return name in ("max", "min") or (name == "sum" and end == 0)


def _row_places(read: Read, bounds: Bounds, state: StageRows) -> dict[int, Affine]:
    """By axis that has rows: which row is read."""
    found = {}
    for one in state.rows.get(read.tensor, ()):
        quotient, _ = divided(read.indices[one.axis], one.within, bounds)
        found[one.axis] = divided(quotient, state.count, bounds)[1]
    return found


def words_of(value: Value | None, bounds: Bounds, state: StageRows) -> tuple[Any, ...]:
    """The expression in prefix order, without rows; MixedError where one stands elsewhere."""
    found: list[Any] = []
    pending = [value] if value is not None else []
    while pending:
        one = pending.pop()
        if isinstance(one, Op):
            found.append((one.name, one.dtype, len(one.args)))
            pending += one.args[::-1]
            continue
        if isinstance(one, Const):
            found.append((repr(one.value), one.dtype))
        elif isinstance(one, IndexValue):
            found.append(_without_row(one.value))
        else:
            assert isinstance(one, Read)
            found.append((one.tensor.name, *_places(one, bounds, state)))
        pending += values_inside(one)[::-1]
    return tuple(found)


def _places(read: Read, bounds: Bounds, state: StageRows) -> Iterator[Any]:
    """Where in each axis it reads; where rows lie, by which row is checked, and told.

    The first row is there whatever their number, but those that read it are not by themselves.
    """
    own = {one.axis: one.within for one in state.rows.get(read.tensor, ())}
    read_rows = _row_places(read, bounds, state)
    for axis, place in enumerate(read.indices):
        if axis in own:
            row = read_rows[axis]
            which = next((n for n, var in enumerate(_ROWS) if row == var.affine()), None)
            if which is None and row != index(0):
                raise MixedError
            quotient, within = divided(place, own[axis], bounds)
            before, _ = divided(quotient, state.count, bounds)
            yield which, _without_row(before), _without_row(within)
        elif axis in state.even.get(read.tensor, ()) and _variables(place) <= {*_ROWS}:
            yield "any"
        else:
            yield _without_row(place)


def _without_row(place: Affine) -> str:
    if not _variables(place).isdisjoint(_ROWS):
        raise MixedError
    return str(place)


def _variables(place: Affine) -> set[Var]:
    """Those that it is computed with; what is found in memory is read, and checked there."""
    found: set[Var] = set()
    for atom, _ in place.terms:
        if isinstance(atom, Var):
            found.add(atom)
        elif not isinstance(atom, Element):
            found |= _variables(atom.value)
    return found
