"""Knobs tied together by constraints: which of their joint values are feasible."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate, chain

from tilewright.space.entities.knob_values import KnobValues
from tilewright.space.feasible.class_tree import ClassTree
from tilewright.space.feasible.constraint import Expression
from tilewright.space.feasible.intervals import Interval, atoms_of
from tilewright.space.feasible.knob_classes import KnobClasses
from tilewright.space.feasible.rejection import Rejection, all_hold
from tilewright.space.feasible.tied_constraint import TiedConstraint

FEW = 1_000
_TRIES = 8


class KnobGroup:
    """Some knobs of an alternative and the constraints among them; groups do not tie one another.

    Where one point in fifty is feasible, drawing is trying, which needs no preparation; the tree,
    which does, is grown when it is asked for. Digits are positions of values, one a knob.
    """

    def __init__(self, knobs: Sequence[KnobValues], constraints: Iterable[Expression]) -> None:
        level_of = {knob.name: level for level, knob in enumerate(knobs)}
        atoms_in = [(expression, atoms_of(expression)) for expression in constraints]
        read: list[dict[int, Expression]] = [{} for _ in knobs]
        for atom in chain.from_iterable(atoms for _, atoms in atoms_in):
            (name,) = atom.knobs()
            read[level_of[name]][id(atom)] = atom
        ends = list(accumulate(map(len, read), initial=0))
        slot_of = {key: slot for slot, key in enumerate(chain.from_iterable(read))}
        tied = [TiedConstraint.compile(*each, slot_of, level_of) for each in atoms_in]
        self._knobs = tuple(
            KnobClasses(knob, tuple(own.values()), range(*ends[level : level + 2]))
            for level, (knob, own) in enumerate(zip(knobs, read, strict=True))
        )
        self._constraints = tied
        self._free = 0 if tied else self._knobs[0].size  # a knob alone, of which any value will do
        depth = range(len(self._knobs))
        self._concerning = [[c.holds for c in tied if level in c.levels] for level in depth]

    @cached_property
    def roughly(self) -> float:
        """Number of feasible points: counted among few, else to a tenth or two by trying some.

        Where one point in fifty or fewer is feasible: counted, or where that would take long the
        number of points, feasible or not.
        """
        points = math.prod(knob.size for knob in self._knobs)
        if points > FEW and self._blind.share:
            return points * self._blind.share
        return points if self.count is None else self.count

    @property
    def count(self) -> int | None:
        """Number of feasible points, None where counting them would take long."""
        return self.tree.count

    @cached_property
    def tree(self) -> ClassTree:
        """The group's knobs as a tree of classes."""
        return ClassTree(self._knobs, self._constraints)

    def accepts(self, digits: Sequence[int]) -> bool:
        """Whether a point satisfies every constraint."""
        atoms = self._assigned(digits)
        return all_hold([constraint.holds for constraint in self._constraints], atoms)

    def draw(self, rng: random.Random) -> list[int] | None:
        """Digits of a feasible point, None where there is none.

        Uniform by rejection where one point in fifty is feasible, of all or of those that the tree
        leaves; else the tree's own draw.
        """
        if self._free:
            return [int(rng.random() * self._free)]
        return self.tree.draw(rng) if self._rejection is None else self._rejection.draw(rng)

    def redraw(self, rng: random.Random, digits: Sequence[int], level: int) -> int | None:
        """Another value of one knob, the others kept; uniform, None where there is none."""
        own, knob, concerned = digits[level], self._knobs[level], self._concerning[level]
        atoms = self._assigned(digits)
        for _ in range(_TRIES):
            digit = int(rng.random() * knob.size)
            if digit != own:
                knob.assign_value(atoms, digit)
                if all_hold(concerned, atoms):
                    return digit
        free: list[int] = []
        for place, members in enumerate(knob.members):
            knob.assign(atoms, place)
            if all_hold(concerned, atoms):
                free += members
        others = [digit for digit in free if digit != own]
        return rng.choice(others) if others else None

    @cached_property
    def _blind(self) -> Rejection:
        return self._rejecting([range(knob.size) for knob in self._knobs])

    @cached_property
    def _rejection(self) -> Rejection | None:
        """A way to draw a point quickly; None where neither all points nor live ones will do."""
        if self._blind.finds:
            return self._blind
        live = self._rejecting(self.tree.live_digits)
        return live if live.finds else None

    def _rejecting(self, pools: Sequence[Sequence[int]]) -> Rejection:
        return Rejection(self._knobs, self._constraints, pools)

    def _assigned(self, digits: Sequence[int]) -> list[Interval]:
        atoms: list[Interval] = []
        for knob, digit in zip(self._knobs, digits, strict=True):
            atoms += knob.at(digit)
        return atoms
