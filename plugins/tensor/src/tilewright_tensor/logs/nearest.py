"""The point of a space that comes nearest to another system's config."""

from __future__ import annotations

from collections.abc import Mapping
from math import log2
from typing import Any

from tilewright.space.alternative import Alternative
from tilewright.space.entities.knob_values import KnobValues
from tilewright.space.feasible.constraint import holds
from tilewright.space.nearest import nearest_first
from tilewright.vocabulary.config import ConfigEntity

_MOST_POINTS = 20_000


class NearestPoints:
    """The points of one alternative that come nearest to configs, of which many want the same."""

    def __init__(self, alternative: Alternative) -> None:
        self._alternative = alternative
        self._ranked: dict[tuple[str, Any], list[tuple[float, int]]] = {}

    def to(self, wanted: Mapping[str, Any]) -> ConfigEntity | None:
        """The feasible point that differs least from what is wanted; None where none is near.

        Numbers differ as factors do, tiles by their innermost parts that are wanted, anything else
        by one; a knob that is not wanted takes its first values.
        """
        knobs = self._alternative.knobs
        ranked = [self._nearest_values(knob, wanted.get(knob.name)) for knob in knobs]
        for places in nearest_first(ranked, _MOST_POINTS):
            chosen = zip(knobs, places, strict=True)
            values = {knob.name: knob.values[place] for knob, place in chosen}
            if all(holds(constraint, values) for constraint in self._alternative.constraints):
                return ConfigEntity(self._alternative.name, values)
        return None

    def _nearest_values(self, knob: KnobValues, wanted: Any) -> list[tuple[float, int]]:
        """The distance and the place of every value, the nearest first."""
        key = knob.name, wanted
        if key not in self._ranked:
            distances = ((_distance(value, wanted), n) for n, value in enumerate(knob.values))
            self._ranked[key] = sorted(distances)
        return self._ranked[key]


def nearest(alternative: Alternative, wanted: Mapping[str, Any]) -> ConfigEntity | None:
    """The nearest point to a single config."""
    return NearestPoints(alternative).to(wanted)


def _distance(value: Any, wanted: Any) -> float:
    if wanted is None:
        return 0.0
    if isinstance(value, tuple):
        parts = wanted if isinstance(wanted, tuple) else (wanted,)
        both = zip(reversed(value), reversed(parts), strict=False)
        return sum(_distance(one, part) for one, part in both)
    if isinstance(value, bool | str):
        return float(value != wanted)
    return abs(log2(max(1, int(value))) - log2(max(1, wanted)))
