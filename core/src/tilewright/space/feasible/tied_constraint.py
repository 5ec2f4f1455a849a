"""A constraint in the form that drawing and counting ask for: functions of its atoms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.space.feasible.constraint import Expression
from tilewright.space.feasible.intervals import Bound, compile_bound
from tilewright.space.feasible.point_value import Value, compile_value


@dataclass(frozen=True, slots=True)
class TiedConstraint:
    """A constraint as functions of its atoms (see `atoms_of`).

    bound    what it can still become while some of its knobs are open
    value    what it is at a point
    slots    of its atoms
    levels   of the knobs that they read, ascending
    """

    bound: Bound
    value: Value
    slots: range
    levels: tuple[int, ...]

    @classmethod
    def compile(
        cls,
        expression: Expression,
        atoms: Sequence[Expression],
        slots: range,
        level_of: Mapping[str, int],
    ) -> TiedConstraint:
        """The constraint whose atoms have these slots, on knobs that have these levels."""
        slot_of = {id(atom): slot for slot, atom in zip(slots, atoms, strict=True)}
        levels = tuple(sorted(level_of[name] for name in expression.knobs()))
        bound, value = compile_bound(expression, slot_of), compile_value(expression, slot_of)
        return cls(bound, value, slots, levels)
