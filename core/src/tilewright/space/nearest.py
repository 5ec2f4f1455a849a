"""The config of one space that is most like a config of another, such as of a similar task."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from math import inf, log2
from typing import TYPE_CHECKING, Any, TypeVar

from tilewright.vocabulary.config import ConfigEntity

if TYPE_CHECKING:
    from tilewright.space.alternative import Alternative
    from tilewright.space.config_space import ConfigSpace

_T = TypeVar("_T")
_MOST_TRIED = 4_000
_VALUES = 64
"""Of a knob that a constraint reads; a split may have a hundred thousand."""

_OTHER = 4.0
"""As far apart as numbers of which one is sixteen times the other."""


def nearest_config(space: ConfigSpace, config: ConfigEntity) -> ConfigEntity | None:
    """The feasible point of the config's alternative whose values are most like its own.

    Numbers differ by the logarithm of their ratio, splits by that of all factors but the outermost,
    which is what the others leave of a loop. Among points of which the nearest few thousand are
    infeasible none is found, nor where the space has not the alternative.
    """
    alternative = next((one for one in space.alternatives if one.name == config.strategy), None)
    if alternative is None:
        return None
    for found in _points(alternative, config):
        if space.is_valid(found):
            return found
    return None


def nearest_first(
    ranked: Sequence[Sequence[tuple[float, _T]]], most: int
) -> Iterator[tuple[_T, ...]]:
    """One value of each list, by the sum of their distances; the nearest `most` of all.

    ranked  (distance, value) of each, the nearest first; none where one of them is empty
    """
    start = (0,) * len(ranked)
    waiting, known = [(0.0, start)] if all(ranked) else [], {start}
    for _ in range(most):
        if not waiting:
            return
        _, places = heapq.heappop(waiting)
        yield tuple(values[place][1] for values, place in zip(ranked, places, strict=True))
        for number, values in enumerate(ranked):
            further = (*places[:number], places[number] + 1, *places[number + 1 :])
            if further[number] < len(values) and further not in known:
                known.add(further)
                each = zip(ranked, further, strict=True)
                heapq.heappush(waiting, (sum(own[place][0] for own, place in each), further))


def _points(alternative: Alternative, config: ConfigEntity) -> Iterator[ConfigEntity]:
    """By their distance, the knobs that no constraint reads at their nearest values."""
    tied = set().union(*(constraint.knobs() for constraint in alternative.constraints))
    ranked = [
        _nearest(knob.values, config.values.get(knob.name), _VALUES if knob.name in tied else 1)
        for knob in alternative.knobs
    ]
    names = [knob.name for knob in alternative.knobs]
    for chosen in nearest_first(ranked, _MOST_TRIED):
        yield ConfigEntity(alternative.name, dict(zip(names, chosen, strict=True)))


def _nearest(values: Sequence[Any], wanted: Any, count: int) -> list[tuple[float, Any]]:
    """(distance, value), the nearest first; ties as declared."""
    apart = ((_apart(value, wanted), value) for value in values)
    return heapq.nsmallest(count, apart, key=lambda one: one[0])


def _apart(value: Any, wanted: Any) -> float:
    if type(value) is type(wanted) and value == wanted:
        return 0.0
    if isinstance(value, tuple) and isinstance(wanted, tuple) and len(value) == len(wanted):
        inner = zip(value[1:], wanted[1:], strict=True)
        return min(sum(_apart(one, other) for one, other in inner), _OTHER * len(value))
    if _is_number(value) and _is_number(wanted):
        return min(abs(log2(value / wanted)), _OTHER) if min(value, wanted) > 0 else _OTHER
    return _OTHER


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value < inf
