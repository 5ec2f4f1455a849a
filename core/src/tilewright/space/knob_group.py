"""Knobs tied together by constraints: which of their joint values are feasible, and how many."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, islice

from tilewright.space.constraint import Expression
from tilewright.space.intervals import Bound, Interval, atoms_of, compile_bound
from tilewright.space.knob_classes import KnobClasses
from tilewright.space.knob_values import KnobValues
from tilewright.space.point_value import Value, compile_value

VISITS = 5_000
_HITS = 8
_PROBES = 50 * _HITS
_TRIES = 64
_MAX_PAIRS = 2**16
_MEMO_LIMIT = 100_000
_LEADS_LIMIT = 5_000

Classes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Constraint:
    """A constraint over atoms: their slots, and the levels of the knobs that they read."""

    bound: Bound
    value: Value
    slots: range
    levels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Node:
    """The classes that the next knob may take, with running totals of the points below them."""

    places: tuple[int, ...]
    totals: tuple[int, ...]


class KnobGroup:
    """Some knobs of an alternative and the constraints among them; groups do not tie one another.

    Questions are answered on a tree of classes (see `KnobClasses`), one level a knob. Branches are
    cut by intervals and where two knobs leave each other no partner; prefixes that the constraints
    still open cannot tell apart are one node. Where that takes at most 5,000 visits, counting and
    uniform drawing are exact. Methods take the classes of the first knobs of the group, all of
    them where they say so, and digits, positions of values.
    """

    def __init__(self, knobs: Sequence[KnobValues], constraints: Iterable[Expression]) -> None:
        self.knobs = tuple(knobs)
        level_of = {knob.name: level for level, knob in enumerate(knobs)}
        self._atoms: list[list[tuple[int, Expression]]] = [[] for _ in knobs]
        self._slots = 0
        self._constraints: list[_Constraint] = []
        for expression in constraints:
            atoms = atoms_of(expression)
            slots = range(self._slots, self._slots + len(atoms))
            for slot, atom in zip(slots, atoms, strict=True):
                (name,) = atom.knobs()
                self._atoms[level_of[name]].append((slot, atom))
            self._slots += len(atoms)
            slot_of = {id(atom): slot for slot, atom in zip(slots, atoms, strict=True)}
            bound, value = compile_bound(expression, slot_of), compile_value(expression, slot_of)
            levels = tuple(sorted(level_of[name] for name in expression.knobs()))
            self._constraints.append(_Constraint(bound, value, slots, levels))
        depth = range(len(self.knobs))
        self._closing = [[c.value for c in self._constraints if c.levels[-1] == i] for i in depth]
        self._open_after = [
            [c.bound for c in self._constraints if i in c.levels[:-1]] for i in depth
        ]
        self._prefix: tuple[Classes | None, list[Interval]] = (None, [])
        self._completable: dict[Classes, bool] = {}
        self._leads: dict[Classes, dict[int, bool]] = {}
        self._nodes: dict[Classes, _Node] = {}

    @cached_property
    def count(self) -> int | None:
        """Number of feasible points, None where counting them takes more than 5,000 visits."""
        try:
            return self._count((), [VISITS])
        except _TooManyError:
            self._nodes.clear()
            return None

    @cached_property
    def share(self) -> float:
        """The share of points that are feasible, by trying some; 0 where it is below 1 in 50."""
        rng = random.Random(0)  # nobody else's: the question leaves no trace
        hits = (tried for tried in range(1, _PROBES + 1) if self._draw_once(rng) is not None)
        last = next(islice(hits, _HITS - 1, None), None)
        return _HITS / last if last is not None else 0.0

    @property
    def raw_count(self) -> int:
        """Number of points, feasible or not."""
        return math.prod(len(knob) for knob in self.knobs)

    def class_of(self, level: int, digit: int) -> int:
        """The class of a knob's value."""
        return self._classes[level].class_of[digit]

    def classes(self, digits: Sequence[int]) -> Classes:
        """The classes of all knobs' values."""
        return tuple(
            [knob.class_of[digit] for knob, digit in zip(self._classes, digits, strict=True)]
        )

    def accepts(self, classes: Classes) -> bool:
        """Whether the classes of all knobs satisfy every constraint."""
        atoms = self._assigned(classes)
        return _hold([constraint.value for constraint in self._constraints], atoms)

    def completable(self, classes: Classes) -> bool:
        """Whether the last class extends the others, which are completable, to a feasible point."""
        if not self._possible(classes):
            return False
        level, key = len(classes), self._key(classes)
        if level == len(self.knobs):
            return True
        known = self._completable.get(key)
        if known is None:
            if len(self._completable) >= _MEMO_LIMIT:
                self._completable.clear()
            known = any(self.completable((*classes, place)) for place in self._live[level])
            self._completable[key] = known
        return known

    def draw(self, rng: random.Random) -> list[int] | None:
        """Digits of a feasible point, None where there is none.

        Uniform, by rejection where one point in fifty is feasible, else where `count` is known;
        otherwise a random descent of the tree, which finds a point but favours sparse branches.
        """
        while self.share:
            classes = self._draw_once(rng)
            if classes is not None:
                return self._members(rng, classes)
        return self._descend(rng) if self.count is None else self._draw_counted(rng)

    def redraw(self, rng: random.Random, digits: Sequence[int], level: int) -> int | None:
        """Another value of one knob, the others kept; uniform, None where there is none."""
        classes, knob = self.classes(digits), self._classes[level]
        atoms = self._assigned(classes)
        concerned = [c.value for c in self._constraints if level in c.levels]
        weights = [0] * len(knob.members)
        for place, members in enumerate(knob.members):
            knob.assign(atoms, place)
            if _hold(concerned, atoms):
                weights[place] = len(members)
        if sum(weights) == (weights[classes[level]] > 0):
            return None
        while True:
            (place,) = rng.choices(range(len(weights)), weights)
            digit = rng.choice(knob.members[place])
            if digit != digits[level]:
                return digit

    @cached_property
    def _classes(self) -> tuple[KnobClasses, ...]:
        return tuple(map(KnobClasses.sort, self.knobs, self._atoms))

    @cached_property
    def _open(self) -> list[Interval]:
        """The intervals of all atoms while no knob is chosen."""
        atoms: list[Interval] = [None] * self._slots
        for knob in self._classes:
            knob.open(atoms)
        return atoms

    @cached_property
    def _live(self) -> list[dict[int, None]]:
        """By knob: the classes, in order, that constraints on two knobs leave a partner.

        Without this (arc consistency) a descent tries each of a thousand hopeless factors, and
        finds out a level later.
        """
        live = [dict.fromkeys(range(len(knob.members))) for knob in self._classes]
        pairs = [constraint for constraint in self._constraints if len(constraint.levels) == 2]
        # A second round sees what the first one took from its neighbours.
        for constraint in pairs * 2:
            first, second = constraint.levels
            mine = self._classes[first].alike(constraint.slots, list(live[first]))
            theirs = self._classes[second].alike(constraint.slots, list(live[second]))
            if len(mine) * len(theirs) > _MAX_PAIRS:
                continue
            atoms = list(self._open)
            kept: dict[int, set[int]] = {first: set(), second: set()}
            for here in mine:
                self._classes[first].assign(atoms, here[0])
                for there in theirs:
                    self._classes[second].assign(atoms, there[0])
                    if _hold([constraint.value], atoms):
                        kept[first].update(here)
                        kept[second].update(there)
            for level, places in kept.items():
                live[level] = {place: None for place in live[level] if place in places}
        return live

    @cached_property
    def _live_digits(self) -> list[list[int]]:
        """By knob: the class of each value whose class is live."""
        pairs = zip(self._classes, self._live, strict=True)
        return [[place for place in knob.class_of if place in live] for knob, live in pairs]

    @cached_property
    def _merged(self) -> list[list[list[int]]]:
        """By level, knob before it, and class: the first class that open constraints see alike."""
        merged = []
        for level in range(len(self.knobs) + 1):
            slots = {s for c in self._constraints if c.levels[-1] >= level for s in c.slots}
            columns = []
            for knob in self._classes[:level]:
                places = range(len(knob.members))
                first_of = [0] * len(places)
                for group in knob.alike(slots, places):
                    for place in group:
                        first_of[place] = group[0]
                columns.append(first_of)
            merged.append(columns)
        return merged

    def _key(self, classes: Classes) -> Classes:
        """Equal for prefixes whose completions are the same."""
        columns = self._merged[len(classes)]
        return tuple([column[place] for column, place in zip(columns, classes, strict=True)])

    def _assigned(self, classes: Classes) -> list[Interval]:
        atoms = list(self._open)
        for knob, place in zip(self._classes, classes, strict=False):
            knob.assign(atoms, place)
        return atoms

    def _possible(self, classes: Classes) -> bool:
        """Whether constraints on the last knob hold, or still can; the empty prefix always can."""
        level = len(classes) - 1
        if level < 0:
            return True
        if classes[-1] not in self._live[level]:
            return False
        before, known = self._prefix
        if before != classes[:-1]:
            # Siblings are asked one after the other: what they share is worked out once.
            before, known = self._prefix = classes[:-1], self._assigned(classes[:-1])
        atoms = list(known)
        self._classes[level].assign(atoms, classes[-1])
        return _hold(self._closing[level], atoms) and all(
            bound(atoms) != (False, False) for bound in self._open_after[level]
        )

    def _count(self, classes: Classes, visits: list[int]) -> int:
        """Feasible points below a possible prefix; keeps the node. Raises _TooManyError."""
        level, key = len(classes), self._key(classes)
        if level == len(self.knobs):
            return 1
        if key not in self._nodes:
            visits[0] -= len(self._live[level])
            if visits[0] < 0:
                raise _TooManyError
            below = {}
            for place in self._live[level]:
                child = (*classes, place)
                if self._possible(child) and (points := self._count(child, visits)):
                    below[place] = points * len(self._classes[level].members[place])
            self._nodes[key] = _Node(tuple(below), tuple(accumulate(below.values())))
        totals = self._nodes[key].totals
        return totals[-1] if totals else 0

    def _draw_counted(self, rng: random.Random) -> list[int] | None:
        if not self.count:
            return None
        classes: Classes = ()
        while len(classes) < len(self.knobs):
            node = self._nodes[self._key(classes)]
            choice = bisect_right(node.totals, rng.randrange(node.totals[-1]))
            classes = (*classes, node.places[choice])
        return self._members(rng, classes)

    def _draw_once(self, rng: random.Random) -> Classes | None:
        """A point drawn knob by knob; None as soon as a constraint does not hold."""
        atoms = list(self._open)
        classes = []
        for knob, digits, closing in zip(
            self._classes, self._live_digits, self._closing, strict=True
        ):
            if not digits:
                return None
            place = rng.choice(digits)
            knob.assign(atoms, place)
            if closing and not _hold(closing, atoms):
                return None
            classes.append(place)
        return tuple(classes)

    def _descend(self, rng: random.Random) -> list[int] | None:
        classes: Classes = ()
        for live, digits in zip(self._live, self._live_digits, strict=True):
            if not digits:
                return None
            leads_on = self._known_leads(classes)
            # Mostly one of the first few leads on; where none does, every class gets its turn.
            likely = (rng.choice(digits) for _ in range(_TRIES))
            rest = (place for part in (list(live),) for place in rng.sample(part, len(part)))
            for place in chain(likely, rest):
                if place not in leads_on:
                    leads_on[place] = self.completable((*classes, place))
                if leads_on[place]:
                    break
            else:
                return None
            classes = (*classes, place)
        return self._members(rng, classes)

    def _known_leads(self, classes: Classes) -> dict[int, bool]:
        """Which next classes were found to lead on, for all prefixes with the same completions."""
        if len(self._leads) >= _LEADS_LIMIT:
            self._leads.clear()
        return self._leads.setdefault(self._key(classes), {})

    def _members(self, rng: random.Random, classes: Classes) -> list[int]:
        return [
            rng.choice(knob.members[place])
            for knob, place in zip(self._classes, classes, strict=True)
        ]


def _hold(constraints: Iterable[Value], atoms: Sequence[Interval]) -> bool:
    """Whether all are true; a constraint that divides by zero is not."""
    try:
        for value in constraints:
            if not value(atoms):
                return False
    except ZeroDivisionError:
        return False
    return True


class _TooManyError(Exception):
    """Counting would take long."""
