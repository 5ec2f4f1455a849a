"""The classes that tied knobs can take one after the other, as a tree: counting, and drawing."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain

from tilewright.space.feasible.intervals import Interval
from tilewright.space.feasible.knob_classes import KnobClasses
from tilewright.space.feasible.rejection import all_hold
from tilewright.space.feasible.tied_constraint import TiedConstraint

VISITS = 5_000
_TRIES = 64
_MAX_PAIRS = 2**16
_MEMO_LIMIT = 100_000
_LEADS_LIMIT = 5_000

Classes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Node:
    """The classes that the next knob may take, with running totals of the points below them."""

    places: tuple[int, ...]
    totals: tuple[int, ...]


class ClassTree:
    """Classes of the first knobs (see `KnobClasses`), one level a knob.

    Branches are cut by intervals, and where two knobs exclude each other. Prefixes that the open
    constraints do not distinguish are one node. Where that takes at most 5,000 visits,
    counting and uniform drawing are exact.
    """

    def __init__(self, knobs: Sequence[KnobClasses], constraints: Sequence[TiedConstraint]) -> None:
        self._knobs = knobs
        self._constraints = constraints
        depth = range(len(knobs))
        self._closing = [[c.holds for c in constraints if c.levels[-1] == i] for i in depth]
        self._open_after = [[c.bound for c in constraints if i in c.levels[:-1]] for i in depth]
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
    def live_digits(self) -> list[list[int]]:
        """By knob: the values that constraints on two knobs leave a partner."""
        pairs = zip(self._knobs, self._live, strict=True)
        return [
            [digit for digit, place in enumerate(knob.class_of) if place in live]
            for knob, live in pairs
        ]

    def class_of(self, level: int, digit: int) -> int:
        """The class of a knob's value."""
        return self._knobs[level].class_of[digit]

    def completable(self, classes: Classes) -> bool:
        """Whether the last class extends the others, which are completable, to a feasible point."""
        if not self._possible(classes):
            return False
        level, key = len(classes), self._key(classes)
        if level == len(self._knobs):
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

        Uniform where `count` is known; otherwise a random descent, which finds a point but favours
        sparse branches.
        """
        classes = self._descend(rng) if self.count is None else self._draw_counted(rng)
        if classes is None:
            return None
        return [
            rng.choice(knob.members[place])
            for knob, place in zip(self._knobs, classes, strict=True)
        ]

    @cached_property
    def _open(self) -> list[Interval]:
        """The intervals of all atoms while no knob is chosen."""
        atoms: list[Interval] = [None] * sum(len(knob.slots) for knob in self._knobs)
        for knob in self._knobs:
            knob.open(atoms)
        return atoms

    @cached_property
    def _live(self) -> list[dict[int, None]]:
        """By knob: the classes, in order, that constraints on two knobs leave a partner.

        Without this (arc consistency) a descent tries each of a thousand hopeless factors, and
        finds out a level later.
        """
        live = [dict.fromkeys(range(len(knob.members))) for knob in self._knobs]
        pairs = [constraint for constraint in self._constraints if len(constraint.levels) == 2]
        # A second round sees what the first one took from its neighbours.
        for constraint in pairs * 2:
            first, second = constraint.levels
            mine = self._knobs[first].alike(constraint.slots, list(live[first]))
            theirs = self._knobs[second].alike(constraint.slots, list(live[second]))
            if len(mine) * len(theirs) > _MAX_PAIRS:
                continue
            atoms = list(self._open)
            kept: dict[int, set[int]] = {first: set(), second: set()}
            for here in mine:
                self._knobs[first].assign(atoms, here[0])
                for there in theirs:
                    self._knobs[second].assign(atoms, there[0])
                    if constraint.holds(atoms):
                        kept[first].update(here)
                        kept[second].update(there)
            for level, places in kept.items():
                live[level] = {place: None for place in live[level] if place in places}
        return live

    @cached_property
    def _merged(self) -> list[list[list[int]]]:
        """By level, knob before it, and class: the first class that open constraints see alike."""
        merged = []
        for level in range(len(self._knobs) + 1):
            slots = {s for c in self._constraints if c.levels[-1] >= level for s in c.slots}
            columns = []
            for knob in self._knobs[:level]:
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
        for knob, place in zip(self._knobs, classes, strict=False):
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
        self._knobs[level].assign(atoms, classes[-1])
        return all_hold(self._closing[level], atoms) and all(
            bound(atoms) != (False, False) for bound in self._open_after[level]
        )

    def _count(self, classes: Classes, visits: list[int]) -> int:
        """Feasible points below a possible prefix; keeps the node. Raises _TooManyError."""
        level, key = len(classes), self._key(classes)
        if level == len(self._knobs):
            return 1
        if key not in self._nodes:
            visits[0] -= len(self._live[level])
            if visits[0] < 0:
                raise _TooManyError
            below = {}
            for place in self._live[level]:
                child = (*classes, place)
                if self._possible(child) and (points := self._count(child, visits)):
                    below[place] = points * len(self._knobs[level].members[place])
            self._nodes[key] = _Node(tuple(below), tuple(accumulate(below.values())))
        totals = self._nodes[key].totals
        return totals[-1] if totals else 0

    def _draw_counted(self, rng: random.Random) -> Classes | None:
        if not self.count:
            return None
        classes: Classes = ()
        while len(classes) < len(self._knobs):
            node = self._nodes[self._key(classes)]
            choice = bisect_right(node.totals, rng.randrange(node.totals[-1]))
            classes = (*classes, node.places[choice])
        return classes

    def _descend(self, rng: random.Random) -> Classes | None:
        classes: Classes = ()
        for knob, live, digits in zip(self._knobs, self._live, self.live_digits, strict=True):
            if not digits:
                return None
            leads_on = self._known_leads(classes)
            # Mostly one of the first few leads on; where none does, every class gets its turn.
            likely = (knob.class_of[rng.choice(digits)] for _ in range(_TRIES))
            rest = (place for part in (list(live),) for place in rng.sample(part, len(part)))
            for place in chain(likely, rest):
                if place not in leads_on:
                    leads_on[place] = self.completable((*classes, place))
                if leads_on[place]:
                    break
            else:
                return None
            classes = (*classes, place)
        return classes

    def _known_leads(self, classes: Classes) -> dict[int, bool]:
        """The next classes that can be completed, for all prefixes with the same completions."""
        if len(self._leads) >= _LEADS_LIMIT:
            self._leads.clear()
        return self._leads.setdefault(self._key(classes), {})


class _TooManyError(Exception):
    """Counting would take long."""
