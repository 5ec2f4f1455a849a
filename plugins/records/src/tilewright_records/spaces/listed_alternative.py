"""An alternative whose feasible points are a list, for want of the constraints that made it."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tilewright.space.alternative import Alternative
from tilewright.space.entities.knob_values import KnobValues
from tilewright.vocabulary.config import ConfigEntity

_MIX_TRIES = 8


class ListedAlternative(Alternative):
    """A product of knobs of which the given points are feasible.

    Other systems' files name what was measured and not the rules of what may be. It stands in a
    `ConfigSpace` like any alternative; a file cannot hold it.
    """

    def __init__(
        self, name: str, knobs: Sequence[KnobValues], points: Iterable[ConfigEntity]
    ) -> None:
        super().__init__(name, tuple(knobs))
        places = (self.find(point) for point in points)
        listed = sorted({place for place in places if place is not None})
        object.__setattr__(self, "_listed", listed)
        object.__setattr__(self, "_feasible", frozenset(listed))

    _listed: list[int]
    _feasible: frozenset[int]

    @property
    def valid_count(self) -> int:
        return len(self._listed)

    @property
    def roughly(self) -> float:
        return float(len(self._listed))

    def accepts(self, index: int) -> bool:
        return index in self._feasible

    def indexes(self, start: int = 0, stop: int | None = None) -> Iterator[int]:
        first = bisect_left(self._listed, start)
        last = len(self._listed) if stop is None else bisect_left(self._listed, stop)
        return iter(self._listed[first:last])

    def draw(self, rng: random.Random) -> int | None:
        return rng.choice(self._listed) if self._listed else None

    def neighbour(self, index: int, rng: random.Random) -> int | None:
        """The index of a feasible point that differs in one knob, None where there is none."""
        config = self.get(index)
        for knob in rng.sample(self.knobs, len(self.knobs)):
            others = (
                self.find(ConfigEntity(self.name, {**config.values, knob.name: value}))
                for value in knob.values
            )
            near = [other for other in others if other != index and other in self._feasible]
            if near:
                return rng.choice([other for other in near if other is not None])
        return None

    def crossover(self, a: int, b: int, rng: random.Random) -> int:
        """The index of a feasible mix of two points; one of them where eight mixes are none."""
        mine, yours = self.get(a).values, self.get(b).values
        for _ in range(_MIX_TRIES):
            mixed = {name: rng.choice((mine[name], yours[name])) for name in mine}
            index = self.find(ConfigEntity(self.name, mixed))
            if index is not None and index in self._feasible:
                return index
        return rng.choice((a, b))

    def to_json(self) -> dict[str, Any]:
        """As of any alternative, with the indexes of its points, by which spaces differ."""
        return {**super().to_json(), "points": self._listed}
