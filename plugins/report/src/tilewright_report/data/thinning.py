"""Fewer points of many, so that a page stays small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def thinned(values: Sequence[T], most: int) -> list[T]:
    """At most so many of the values, evenly chosen, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    step = (len(values) - 1) / (most - 1)
    return [values[round(place * step)] for place in range(most)]


def steps(points: Sequence[tuple[float, float]], most: int) -> list[tuple[float, float]]:
    """The points of a line of steps at which it changes, thinned; the last point stays."""
    kept = [
        point
        for place, point in enumerate(points)
        if place in (0, len(points) - 1) or point[1] != points[place - 1][1]
    ]
    return thinned(kept, most)


def told_thinning(shown: int, of: int, what: str) -> str:
    """The sentence that says so; empty where all are shown."""
    return "" if shown >= of else f"{shown:,} of {of:,} {what} are drawn, evenly chosen."
