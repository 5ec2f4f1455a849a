"""The values of one knob, sorted into classes that its constraints cannot tell apart."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.space.constraint import Expression
from tilewright.space.intervals import Interval, hull
from tilewright.space.knob_values import KnobValues


@dataclass(frozen=True)
class KnobClasses:
    """A split of 3276 entities of which only the innermost factor is constrained has 26 classes.

    slots      of the atoms (see `atoms_of`) that read this knob
    known      by class: the atoms' values as intervals of one point, in the order of `slots`
    members    by class: digits, positions of values in the knob
    class_of   by digit: its class
    """

    slots: tuple[int, ...]
    known: tuple[tuple[Interval, ...], ...]
    members: tuple[tuple[int, ...], ...]
    class_of: tuple[int, ...]

    @classmethod
    def sort(cls, knob: KnobValues, atoms: Sequence[tuple[int, Expression]]) -> KnobClasses:
        """The classes of a knob's values, in order of their first members."""
        members: dict[tuple[Interval, ...], list[int]] = {}
        for digit, value in enumerate(knob.values):
            known = tuple(_known(atom, knob.name, value) for _, atom in atoms)
            members.setdefault(known, []).append(digit)
        class_of = [0] * len(knob)
        for place, digits in enumerate(members.values()):
            for digit in digits:
                class_of[digit] = place
        return cls(
            tuple(slot for slot, _ in atoms),
            tuple(members),
            tuple(tuple(digits) for digits in members.values()),
            tuple(class_of),
        )

    def assign(self, atoms: list[Interval], place: int) -> None:
        """Set the knob's atoms to what they are in one class."""
        for slot, interval in zip(self.slots, self.known[place], strict=True):
            atoms[slot] = interval

    def open(self, atoms: list[Interval]) -> None:
        """Set the knob's atoms to the hulls of what they may become."""
        for column, slot in enumerate(self.slots):
            points = [known[column] for known in self.known]
            values = [point[0] for point in points if point is not None]
            atoms[slot] = hull(values) if values and len(values) == len(points) else None

    def alike(self, slots: Container[int], places: Sequence[int]) -> list[list[int]]:
        """The classes given, grouped by the atoms in `slots`."""
        columns = [column for column, slot in enumerate(self.slots) if slot in slots]
        groups: dict[tuple[Interval, ...], list[int]] = {}
        for place in places:
            key = tuple(self.known[place][column] for column in columns)
            groups.setdefault(key, []).append(place)
        return list(groups.values())


def _known(atom: Expression, knob: str, value: Any) -> Interval:
    """The value of an atom as an interval of one point; None where it divides by zero."""
    try:
        known = atom.evaluate({knob: value})
    except ZeroDivisionError:
        return None
    return (known, known)
