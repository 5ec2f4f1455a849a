"""One product of knobs under constraints."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from tilewright.errors import UsageError
from tilewright.space.entities.knob_values import KnobValues
from tilewright.space.feasible.class_tree import Classes
from tilewright.space.feasible.constraint import Expression, expression_from_json
from tilewright.space.feasible.knob_group import KnobGroup
from tilewright.space.value_types import value_types
from tilewright.vocabulary.config import ConfigEntity

_MIX_TRIES = 8


@dataclass(frozen=True, eq=False)
class Alternative:
    """A named product of knobs; made by `Knobs`, held by a ConfigSpace.

    A point has an index: the positions of its knobs' values are its digits, the knob declared first
    the least significant. Nothing here ever lists the product.
    """

    name: str
    knobs: tuple[KnobValues, ...]
    constraints: tuple[Expression, ...] = ()

    def __post_init__(self) -> None:
        declared = {knob.name for knob in self.knobs}
        for constraint in self.constraints:
            read = constraint.knobs()
            if not read or read - declared:
                raise UsageError(
                    f"{self.name}: the constraint '{constraint}' reads "
                    f"{sorted(read - declared) or 'no knob'}",
                    remedy=f"constrain knobs that are declared: {sorted(declared)}",
                )

    @cached_property
    def size(self) -> int:
        """Number of raw points: the product of the knobs' lengths."""
        return math.prod(self._lengths)

    @property
    def valid_count(self) -> int | None:
        """Number of feasible points, None where counting would take long."""
        total = 1
        for group, _, _ in self._groups:
            if group.count is None:
                return None
            total *= group.count
        return total

    @cached_property
    def roughly(self) -> float:
        """Number of feasible points, without counting many (see `KnobGroup.roughly`)."""
        return math.prod(group.roughly for group, _, _ in self._groups)

    def get(self, index: int) -> ConfigEntity:
        """The point at a raw index, feasible or not. Raises IndexError outside the product."""
        if not 0 <= index < self.size:
            raise IndexError(f"{self.name} has {self.size} points, index {index} is none")
        return self._entity(self._digits(index))

    def find(self, config: ConfigEntity) -> int | None:
        """The raw index of a config, None where it is no point of this product."""
        if config.strategy != self.name or len(config.values) != len(self.knobs):
            return None
        index = 0
        for knob, stride in zip(self.knobs, self._strides, strict=True):
            place = knob.place(config.values.get(knob.name))
            if place is None:
                return None
            index += place * stride
        return index

    def accepts(self, index: int) -> bool:
        """Whether the point at a raw index satisfies every constraint."""
        digits = self._digits(index)
        return all(group.accepts([digits[i] for i in places]) for group, places, _ in self._groups)

    def indexes(self, start: int = 0, stop: int | None = None) -> Iterator[int]:
        """Feasible indexes in [start, stop), lazily; infeasible prefixes are skipped as a whole."""
        stop = self.size if stop is None else min(stop, self.size)
        if max(start, 0) >= stop:
            return iter(())
        empty: list[Classes] = [()] * len(self._groups)
        return self._walk(len(self.knobs) - 1, 0, empty, range(max(start, 0), stop))

    def draw(self, rng: random.Random) -> int | None:
        """The index of a random feasible point (see `KnobGroup.draw`), None where there is none."""
        index = 0
        for group, _, strides in self._groups:
            digits = group.draw(rng)
            if digits is None:
                return None
            index += _joined(digits, strides)
        return index

    def neighbour(self, index: int, rng: random.Random) -> int | None:
        """The index of a feasible point that differs in one knob, None where there is none."""
        digits = self._digits(index)
        others = list(range(len(self.knobs)))
        while others:
            place = others.pop(int(rng.random() * len(others)))
            group, places, level = self._group_of[place]
            other = group.redraw(rng, [digits[i] for i in places], level)
            if other is not None:
                return index + (other - digits[place]) * self._strides[place]
        return None

    def crossover(self, a: int, b: int, rng: random.Random) -> int:
        """The index of a feasible mix of two feasible points.

        Knobs are taken from either at random; where eight mixes of knobs that constrain each other
        are infeasible, these knobs come from one parent.
        """
        mine, yours = self._digits(a), self._digits(b)
        index = 0
        for group, places, strides in self._groups:
            for _ in range(_MIX_TRIES):
                digits = [rng.choice((mine[i], yours[i])) for i in places]
                if group.accepts(digits):
                    break
            else:
                parent = rng.choice((mine, yours))
                digits = [parent[i] for i in places]
            index += _joined(digits, strides)
        return index

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "knobs": [knob.to_json() for knob in self.knobs],
            "constraints": [constraint.to_json() for constraint in self.constraints],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Alternative:
        """The inverse of `to_json`. Raises UsageError for a constraint that makes no sense."""
        knobs = tuple(map(KnobValues.from_json, data["knobs"]))
        made = cls(data["name"], knobs, tuple(map(expression_from_json, data["constraints"])))
        for constraint in made.constraints:
            try:
                value_types(constraint, {knob.name: knob for knob in knobs})
            except UsageError as error:
                raise error.placed(f"{made.name}: the constraint '{constraint}'") from None
        return made

    @cached_property
    def _lengths(self) -> tuple[int, ...]:
        return tuple(map(len, self.knobs))

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(knob.name for knob in self.knobs)

    @cached_property
    def _values(self) -> tuple[tuple[Any, ...], ...]:
        return tuple(knob.values for knob in self.knobs)

    @cached_property
    def _strides(self) -> tuple[int, ...]:
        return tuple(accumulate(self._lengths[:-1], operator.mul, initial=1))[: len(self.knobs)]

    @cached_property
    def _groups(self) -> tuple[tuple[KnobGroup, tuple[int, ...], tuple[int, ...]], ...]:
        """Knobs that constraints connect, places and strides, the most significant first."""
        parts = [{knob.name} for knob in self.knobs]
        reads = [constraint.knobs() for constraint in self.constraints]
        for names in reads:
            tied = [part for part in parts if part & names]
            parts = [part for part in parts if part not in tied] + [set().union(*tied)]
        groups = []
        for part in parts:
            places = [i for i in reversed(range(len(self.knobs))) if self.knobs[i].name in part]
            own = [c for c, names in zip(self.constraints, reads, strict=True) if names <= part]
            strides = tuple(self._strides[i] for i in places)
            groups.append((KnobGroup([self.knobs[i] for i in places], own), tuple(places), strides))
        return tuple(groups)

    @cached_property
    def _group_of(self) -> dict[int, tuple[KnobGroup, tuple[int, ...], int]]:
        """By place of a knob: its group, the places of that, and its level there."""
        return {
            place: (group, places, level)
            for group, places, _ in self._groups
            for level, place in enumerate(places)
        }

    def _digits(self, index: int) -> list[int]:
        digits = []
        for length in self._lengths:
            index, digit = divmod(index, length)
            digits.append(digit)
        return digits

    def _entity(self, digits: Sequence[int]) -> ConfigEntity:
        values = map(operator.getitem, self._values, digits)
        return ConfigEntity.of_frozen(self.name, dict(zip(self._names, values, strict=True)))

    def _walk(self, place: int, base: int, chosen: list[Classes], within: range) -> Iterator[int]:
        """Feasible indexes in a range whose digits above `place` are those of `base`."""
        if place < 0:
            yield base
            return
        stride = self._strides[place]
        first = max(0, (within.start - base) // stride)
        last = min(len(self.knobs[place]), -(-(within.stop - base) // stride))
        group, _, level = self._group_of[place]
        mine = next(i for i, (other, *_) in enumerate(self._groups) if other is group)
        before = chosen[mine]
        for digit in range(first, last):
            chosen[mine] = (*before, group.tree.class_of(level, digit))
            if group.tree.completable(chosen[mine]):
                yield from self._walk(place - 1, base + digit * stride, chosen, within)
        chosen[mine] = before


def _joined(digits: Sequence[int], strides: Sequence[int]) -> int:
    """What some digits add to an index."""
    return sum(map(operator.mul, digits, strides))
