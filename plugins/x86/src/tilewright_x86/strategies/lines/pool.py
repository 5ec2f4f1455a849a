"""The best elements of a line in a pool, which is sorted whenever it is full.

Sorting is Batcher's (bitonic merges, all in one direction), without branches: entry
`lane * rows + row` of the order is element `row * lanes + lane` of memory, so that most of its
steps exchange whole vectors, lane by lane.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright_tensor.expressions.affine import Affine, Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import (
    Const,
    IndexValue,
    Load,
    Value,
    as_value,
    bitwise_and,
    bitwise_xor,
    cast,
    eq,
    ge,
    logical_and,
    logical_not,
    logical_or,
    lt,
    minimum,
    select,
    shift_left,
)
from tilewright_tensor.expressions.lookup import lookup
from tilewright_tensor.ir.loop_ir import Guard, Loop, Statement, Store, block
from tilewright_x86.strategies.lines.best import ONLY, Best, Elements, allocated, only_if


class Pool(Best):
    """`Best`, and behind them what has arrived since it was sorted."""

    __slots__ = ()

    @property
    def entries(self) -> int:
        """Twice the best elements, or more."""
        return self._rows * self.lanes

    @property
    def _rows(self) -> int:
        """Vectors of the pool, a power of two."""
        return max(2, 1 << (-(-2 * self.count // self.lanes) - 1).bit_length())

    @property
    def last(self) -> Affine:
        return self._entry(Affine((), self.count - 1))

    def place(self, number: Affine) -> Load:
        return Load(self.places, (self._entry(number),))

    def within(self, statements: Sequence[Statement]) -> Statement:
        return allocated([self.values, self.places, self._number], *statements)

    def found(self, element: Elements) -> Statement:
        free, number = Var("free"), Var("vector")
        vectors, rest = divmod(self.extent, self.lanes)
        parts: list[Statement] = [self._emptied()]
        for buffer, value in (
            (self.values, self.limit(best=False)),
            (self.places, self.extent),
        ):
            freed = Store(buffer, (index(free),), Const(value, buffer.dtype))
            parts.append(Loop(free, self.entries, "vectorized", freed))
        arrives: list[Statement] = []
        if vectors:
            one = self.vector(element, index(number) * self.lanes)
            arrives.append(Guard(((index(number), vectors),), one))
        if rest:
            others = self.each(element, Affine((), self.extent - rest), rest)
            arrives.append(Guard(((-number, 1 - vectors),), others))
        is_full = lt(self.entries - self.lanes, Load(self._number, ONLY))
        arrives.append(only_if(logical_or(ge(number, vectors), is_full), self._sorted()))
        parts.append(Loop(number, vectors + 1, "serial", block(arrives)))
        return block(parts)

    def taken_in(self, value: Value, place: Affine) -> Statement:
        """At the end."""
        number = Load(self._number, ONLY)
        end = (self._entry(lookup(number, self.entries)),)
        return block(
            [
                Store(self.values, end, value),
                Store(self.places, end, cast(IndexValue(place), "int32")),
                Store(self._number, ONLY, number + 1),
            ]
        )

    @property
    def _number(self) -> Buffer:
        """Of entries before which elements arrive: those of the best, free ones at first."""
        return Buffer("arrived", (1,), "int64", "local")

    def _emptied(self) -> Statement:
        """All but the best are overwritten."""
        return Store(self._number, ONLY, Const(self.count, "int64"))

    def _entry(self, number: Affine) -> Affine:
        return (number % self._rows) * self.lanes + number // self._rows

    def _sorted(self) -> Statement:
        """Sorts the pool and drops all but the best: merges runs of 1, 2, 4, ... entries.

        The entries of a run and of the next one are compared from both ends inwards, then those of
        each at ever smaller distances.
        """
        phase, levels = Var("phase"), self._rows.bit_length() - 1
        parts: list[Statement] = []
        for level in range(1, self.lanes.bit_length()):
            here, last = 2**level, levels - 1 + level
            steps = [self._between_lanes(here, mirrored=True)]
            while (here := here // 2) > 1:
                steps.append(self._between_lanes(here, mirrored=False))
            parts.append(Guard(((phase - last, 1), (last - phase, 1)), block(steps)))
        parts.append(self._within_lanes(phase, levels))
        phases = levels + self.lanes.bit_length() - 1
        return block([Loop(phase, phases, "serial", block(parts)), self._emptied()])

    def _within_lanes(self, phase: Var, levels: int) -> Statement:
        """The steps of a phase whose distances are less than the entries of a lane."""
        step, pair, lane = Var("step"), Var("pair"), Var("lane")
        distance, across, first, second = (
            Buffer(name, (1,), "int64", "register")
            for name in ("distance", "across", "first", "second")
        )
        shift = minimum(as_value(phase), levels - 1) - step
        length, row = Load(distance, ONLY), Load(first, ONLY)
        inwards = logical_and(eq(step, 0), lt(phase, levels))
        rows = [lookup(Load(one, ONLY), self._rows) for one in (first, second)]
        places = [(one * self.lanes + lane,) for one in rows]
        swaps = self._precedes(places[1], places[0])
        body = self._exchanged(lane, [(places[0], places[1], swaps), (places[1], places[0], swaps)])
        pairs = block(
            [
                Store(first, ONLY, as_value(pair * 2) - bitwise_and(as_value(pair), length - 1)),
                Store(second, ONLY, bitwise_xor(row, Load(across, ONLY))),
                body,
            ]
        )
        one = allocated(
            [distance, across, first, second],
            Store(distance, ONLY, shift_left(Const(1, "int64"), shift)),
            Store(across, ONLY, select(inwards, length * 2 - 1, length)),
            Loop(pair, self._rows // 2, "serial", pairs),
        )
        return Loop(step, levels, "serial", Guard(((step - phase, 1),), one))

    def _between_lanes(self, group: int, *, mirrored: bool) -> Statement:
        """Compares entries of the halves of groups of lanes, at equal or at mirrored places."""
        row, lane = Var("row"), Var("lane")
        half = group // 2
        is_low = lt(lane % group, half)
        if mirrored:
            other = lane // group * group + (group - 1) - lane % group
            rows = [index(row), (self._rows - 1) - index(row)]
        else:
            other = lane // group * group + (lane + half) % group
            rows = [index(row)]
        changes = []
        for own, partner in zip(rows, rows[::-1], strict=True):
            to, come = (own * self.lanes + lane,), (partner * self.lanes + other,)
            first = self._precedes(come, to)
            changes.append((to, come, select(is_low, first, logical_not(first))))
        return Loop(row, self._rows // len(rows), "serial", self._exchanged(lane, changes))

    def _precedes(self, entry: tuple[Affine], other: tuple[Affine]) -> Value:
        """Whether an entry of the pool comes before another."""
        value, beside = Load(self.values, entry), Load(self.values, other)
        earlier = lt(Load(self.places, entry), Load(self.places, other))
        equal = logical_and(eq(value, beside), earlier)
        return logical_or(self.better(value, beside), equal)

    def _exchanged(
        self, lane: Var, changes: Sequence[tuple[tuple[Affine], tuple[Affine], Value]]
    ) -> Statement:
        """Vectors of the pool (to, come, condition): what comes is stored where that holds."""
        news, stores, olds = [], [], []
        for number, (to, come, condition) in enumerate(changes):
            for kept in (self.values, self.places):
                new = Buffer(f"new_{kept.name}{number}", (self.lanes,), kept.dtype, "register")
                value = select(condition, Load(kept, come), Load(kept, to))
                news.append(new)
                stores.append(Store(new, (index(lane),), value))
                olds.append(Store(kept, to, Load(new, (index(lane),))))
        body = [Loop(lane, self.lanes, "vectorized", one) for one in (*stores, *olds)]
        return allocated(news, *body)
