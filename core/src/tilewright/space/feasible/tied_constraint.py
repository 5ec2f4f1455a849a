"""A constraint in the form that drawing and counting ask for: functions of its atoms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias

from tilewright.space.feasible.constraint import Expression
from tilewright.space.feasible.intervals import Bound, Interval, compile_bound
from tilewright.space.feasible.point_value import Value, compile_value

Holds: TypeAlias = Callable[[Sequence[Interval]], bool]
"""From atoms that are all known to whether a constraint holds, which one that divides by zero does
not."""

_REMEMBERED = 1 << 14


@dataclass(frozen=True, slots=True)
class TiedConstraint:
    """A constraint as functions of its atoms (see `atoms_of`).

    bound    what it can still become while some of its knobs are open
    holds    whether it does at a point
    slots    of its atoms
    levels   of the knobs that they read, ascending
    """

    bound: Bound
    holds: Holds
    slots: frozenset[int]
    levels: tuple[int, ...]

    @classmethod
    def compile(
        cls,
        expression: Expression,
        atoms: Sequence[Expression],
        slot_of: Mapping[int, int],
        level_of: Mapping[str, int],
    ) -> TiedConstraint:
        """The constraint whose atoms, by identity, have these slots, and knobs these levels."""
        own = {id(atom): slot_of[id(atom)] for atom in atoms}
        levels = tuple(sorted(level_of[name] for name in expression.knobs()))
        slots = tuple(own.values())
        holds = _remembering(compile_value(expression, own), slots)
        return cls(compile_bound(expression, own), holds, frozenset(slots), levels)


def _remembering(value: Value, slots: Sequence[int]) -> Holds:
    """Whether a value is true, looked up where the atoms have been so before.

    Of few different factors, most points that a search tries differ in other knobs.
    """
    known: dict[Any, bool] = {}
    read = itemgetter(*slots)

    def holds(atoms: Sequence[Interval]) -> bool:
        key = read(atoms)
        held = known.get(key)
        if held is None:
            try:
                held = bool(value(atoms))
            except ZeroDivisionError:
                held = False
            if len(known) < _REMEMBERED:
                known[key] = held
        return held

    return holds
