"""What each of several did over time: a lane each, the darker the busier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright_report.charts.plot import WIDE, Plot
from tilewright_report.charts.scale import Linear
from tilewright_report.markup.element import Element
from tilewright_report.markup.words import short

_LANE, _THICK, _LEFT, _RIGHT = 24.0, 16.0, 172.0, 16.0
_PALEST = 0.15


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `start` to `end`, with what share of it was busy."""

    start: float
    end: float
    share: float
    said: str


@dataclass(frozen=True, slots=True)
class Lane:
    """A name and its stretches, in order."""

    name: str
    stretches: Sequence[Stretch]


def lanes(rows: Sequence[Lane], name: str, x_name: str) -> Element:
    """A lane each from zero to the last end of all; what is empty was not busy."""
    bottom = len(rows) * _LANE + 4
    plot = Plot(WIDE, bottom + 38, name)
    ends = [one.end for row in rows for one in row.stretches]
    scale = Linear(0.0, max(ends, default=0.0) or 1.0, _LEFT, WIDE - _RIGHT, marks=8)
    plot.x_axis(scale, bottom, 0, x_name)
    for place, row in enumerate(rows):
        top = place * _LANE + (_LANE - _THICK) / 2
        plot.text((_LEFT - 12, top + 12), short(row.name, 24), "tick", "end")
        plot.bar((_LEFT, top), (WIDE - _RIGHT - _LEFT, _THICK), "frame")
        for one in row.stretches:
            left = scale.place(one.start)
            size = (max(scale.place(one.end) - left, 0.5), _THICK)
            drawn = plot.bar((left, top), size, "s0", one.said)
            drawn.set("fill-opacity", f"{_PALEST + (1 - _PALEST) * min(1.0, one.share):.2f}")
    return plot.svg
