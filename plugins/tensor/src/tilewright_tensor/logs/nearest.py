"""The point of a space that comes nearest to another system's config."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from math import log2
from typing import Any

from tilewright.space.alternative import Alternative
from tilewright.space.feasible.constraint import holds
from tilewright.vocabulary.config import ConfigEntity

_MOST_POINTS = 20_000


def nearest(alternative: Alternative, wanted: Mapping[str, Any]) -> ConfigEntity | None:
    """The feasible point that differs least from what is wanted; None where none is near.

    Numbers differ as factors do, tiles by their innermost parts that are wanted, anything else by
    one; a knob that is not wanted takes its first values.
    """
    knobs = [
        sorted((_distance(value, wanted.get(knob.name)), n) for n, value in enumerate(knob.values))
        for knob in alternative.knobs
    ]
    for place in _nearest_first(knobs):
        chosen = zip(alternative.knobs, place, strict=True)
        values = {knob.name: knob.values[n] for knob, n in chosen}
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


def _nearest_first(knobs: Sequence[Sequence[tuple[float, int]]]) -> Iterator[list[int]]:
    """Places of values, one a knob, by the sum of their distances; no more than can be tried."""
    seen = {(0,) * len(knobs)}
    waiting: list[tuple[float, list[int], tuple[int, ...]]] = []

    def put(ranks: tuple[int, ...]) -> None:
        chosen = [knob[rank] for knob, rank in zip(knobs, ranks, strict=True)]
        heappush(waiting, (sum(d for d, _ in chosen), [n for _, n in chosen], ranks))

    put((0,) * len(knobs))
    for _ in range(_MOST_POINTS):
        if not waiting:
            return
        _, place, ranks = heappop(waiting)
        yield place
        for number, knob in enumerate(knobs):
            after = (*ranks[:number], ranks[number] + 1, *ranks[number + 1 :])
            if after[number] < len(knob) and after not in seen:
                seen.add(after)
                put(after)
