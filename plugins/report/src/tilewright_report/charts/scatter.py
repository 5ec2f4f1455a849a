"""Points in a plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tilewright_report.charts.plot import HALF, Plot
from tilewright_report.charts.scale import Linear, Log, Scale
from tilewright_report.markup.element import Element

_LEFT, _BOTTOM, _TOP, _RIGHT = 52.0, 40.0, 22.0, 14.0


@dataclass(frozen=True, slots=True)
class Spot:
    """A point, the class of its colour, and what it says."""

    x: float
    y: float
    kind: str
    said: str
    r: float = 3.2
    href: str = ""


def scatter(
    spots: Sequence[Spot],
    name: str,
    axes: tuple[str, str],
    *,
    size: tuple[float, float] = (HALF, 340),
    kind: Literal["linear", "log", "bare"] = "linear",
    diagonal: bool = False,
) -> Element:
    """The points in order; `bare` has axes without marks, as those of a projection mean nothing."""
    width, height = size
    plot = Plot(width, height, name)
    bottom, right = height - _BOTTOM, width - _RIGHT
    left = 16.0 if kind == "bare" else _LEFT
    make = Log.around if kind == "log" else Linear.around
    x: Scale = make([spot.x for spot in spots], left, right)
    y: Scale = make([spot.y for spot in spots], bottom, _TOP)
    if kind == "bare":
        plot.bar((left, _TOP), (right - left, bottom - _TOP), "frame")
        plot.text((right, bottom + 16), axes[0], "axis", "end")
        plot.text((left, 14), axes[1], "axis")
    else:
        plot.x_axis(x, bottom, _TOP, axes[0])
        plot.y_axis(y, left, right, axes[1])
    if diagonal:
        plot.line((left, bottom), (right, _TOP), "mark")
    for spot in spots:
        at = (x.place(spot.x), y.place(spot.y))
        plot.dot(at, spot.kind, spot.said, r=spot.r, href=spot.href)
    return plot.svg
