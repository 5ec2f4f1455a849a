"""The values of one knob, in classes that its constraints do not distinguish."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cached_property

from tilewright.space.entities.knob_values import KnobValues
from tilewright.space.feasible.constraint import Expression
from tilewright.space.feasible.intervals import Interval, hull

Known = tuple[Interval, ...]


class KnobClasses:
    """Values that all constraints on the knob see alike are one class.

    A split of 3276 entities of which only the innermost factor is constrained has 26 of them.
    Sorting asks every value, which takes milliseconds, and is done when a class is first asked for;
    `at` asks one value.

    size    number of values
    slots   of the atoms (see `atoms_of`) that read this knob; other knobs' come before and after
    """

    def __init__(self, knob: KnobValues, atoms: Sequence[Expression], slots: range) -> None:
        self.size, self.slots = len(knob), slots
        self._knob, self._atoms = knob, atoms
        self._own = slice(slots.start, slots.stop)
        self._at: list[Known | None] = [None] * self.size

    def at(self, digit: int) -> Known:
        """The atoms' values at one of the knob's, as intervals of one point, in order of `slots`.

        None stands for an atom that divides by zero.
        """
        known = self._at[digit]
        if known is None:
            values = {self._knob.name: self._knob.values[digit]}
            known = self._at[digit] = tuple([_known(atom, values) for atom in self._atoms])
        return known

    @cached_property
    def _sorted(self) -> dict[Known, list[int]]:
        """Digits by what the constraints see of them, in order of the first ones."""
        members: dict[Known, list[int]] = {}
        for digit in range(self.size):
            members.setdefault(self.at(digit), []).append(digit)
        return members

    @cached_property
    def known(self) -> tuple[Known, ...]:
        """By class: the atoms' values."""
        return tuple(self._sorted)

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """By class: digits, positions of values in the knob."""
        return tuple(map(tuple, self._sorted.values()))

    @cached_property
    def class_of(self) -> tuple[int, ...]:
        """By digit: its class."""
        class_of = [0] * self.size
        for place, digits in enumerate(self.members):
            for digit in digits:
                class_of[digit] = place
        return tuple(class_of)

    def assign_value(self, atoms: list[Interval], digit: int) -> None:
        """Set the knob's atoms to what they are at one value."""
        atoms[self._own] = self.at(digit)

    def assign(self, atoms: list[Interval], place: int) -> None:
        """Set the knob's atoms to what they are in one class."""
        atoms[self._own] = self.known[place]

    def open(self, atoms: list[Interval]) -> None:
        """Set the knob's atoms to the hulls of what they may become."""
        for column, slot in enumerate(self.slots):
            points = [known[column] for known in self.known]
            values = [point[0] for point in points if point is not None]
            atoms[slot] = hull(values) if values and len(values) == len(points) else None

    def alike(self, slots: Container[int], places: Sequence[int]) -> list[list[int]]:
        """The classes given, grouped by the atoms in `slots`."""
        columns = [column for column, slot in enumerate(self.slots) if slot in slots]
        groups: dict[Known, list[int]] = {}
        for place in places:
            key = tuple(self.known[place][column] for column in columns)
            groups.setdefault(key, []).append(place)
        return list(groups.values())


def _known(atom: Expression, values: dict[str, object]) -> Interval:
    """The value of an atom as an interval of one point; None where it divides by zero."""
    try:
        known = atom.evaluate(values)
    except ZeroDivisionError:
        return None
    return (known, known)
