"""Parallel coordinates: a line for each config, across an axis for each knob."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from tilewright_report.charts.plot import WIDE, Plot
from tilewright_report.charts.scale import Linear
from tilewright_report.markup.element import Element

_HEIGHT, _TOP, _BOTTOM = 240.0, 36.0, 18.0
_MOST_MARKS = 7


def parallel(
    names: Sequence[str], rows: Sequence[tuple[Mapping[str, str], str, str]], name: str
) -> Element:
    """One line a row of (value by knob, class, what it says), the last rows on top.

    An axis has its knob's values from below, in order: as numbers where they are such.
    """
    step = WIDE / max(1, len(names))
    plot = Plot(WIDE, _HEIGHT, name)
    places: list[dict[str, float]] = []
    for column, knob in enumerate(names):
        x = step * (column + 0.5)
        values = sorted({row[0].get(knob, "") for row in rows}, key=_order)
        scale = Linear(0, max(1, len(values) - 1), _HEIGHT - _BOTTOM, _TOP)
        placed = {value: scale.place(at) for at, value in enumerate(values)}
        if len(values) == 1:
            placed = {values[0]: (_HEIGHT - _BOTTOM + _TOP) / 2}
        places.append(placed)
        plot.line((x, _TOP), (x, _HEIGHT - _BOTTOM), "grid")
        letters = max(4, int(step / 6.4))
        plot.text((x, 14 if column % 2 == 0 else 26), _short(knob, 2 * letters), "axis", "middle")
    for own, kind, said in rows:
        points = [
            (step * (column + 0.5), places[column][own.get(knob, "")])
            for column, knob in enumerate(names)
        ]
        plot.path(points, kind, said)
    for column, placed in enumerate(places):
        every = max(1, -(-len(placed) // _MOST_MARKS))
        for at, (value, y) in enumerate(placed.items()):
            if at % every == 0:
                place = (step * (column + 0.5) + 4, y + 3.5)
                plot.text(place, _short(value, max(4, int(step / 7))), "tick halo")
    return plot.svg


def _order(value: str) -> tuple[list[float], str]:
    """Numbers by size, and before other texts; splits such as `2x14x8` from their last number."""
    try:
        return [float(number) for number in reversed(value.split("x"))], value
    except ValueError:
        return [inf], value


def _short(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}\u2026"
