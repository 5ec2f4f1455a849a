"""The point of a space that comes nearest to another system's config."""

from __future__ import annotations

from collections.abc import Mapping
from math import log2
from typing import Any

from tilewright.space.alternative import Alternative
from tilewright.space.feasible.constraint import holds
from tilewright.space.nearest import nearest_first
from tilewright.vocabulary.config import ConfigEntity

_MOST_POINTS = 20_000


def nearest(alternative: Alternative, wanted: Mapping[str, Any]) -> ConfigEntity | None:
    """The feasible point that differs least from what is wanted; None where none is near.

    Numbers differ as factors do, tiles by their innermost parts that are wanted, anything else by
    one; a knob that is not wanted takes its first values.
    """
    ranked = [
        sorted((_distance(value, wanted.get(knob.name)), n) for n, value in enumerate(knob.values))
        for knob in alternative.knobs
    ]
    for places in nearest_first(ranked, _MOST_POINTS):
        chosen = zip(alternative.knobs, places, strict=True)
        values = {knob.name: knob.values[place] for knob, place in chosen}
        if all(holds(constraint, values) for constraint in alternative.constraints):
            return ConfigEntity(alternative.name, values)
    return None


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
