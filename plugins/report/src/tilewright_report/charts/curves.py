"""Lines over time or trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright_report.charts.plot import WIDE, Plot, Point
from tilewright_report.charts.scale import Linear, Log, Scale, fitting
from tilewright_report.charts.scatter import Spot
from tilewright_report.markup.element import Element

_LEFT, _BOTTOM, _TOP, _RIGHT = 58.0, 40.0, 22.0, 14.0


@dataclass(frozen=True, slots=True)
class Curve:
    """A line, with its name and the class of its colour."""

    name: str
    points: Sequence[Point]
    kind: str


def curves(
    lines: Sequence[Curve],
    name: str,
    x_name: str,
    y_name: str,
    *,
    width: float = WIDE,
    height: float = 250,
    spots: Sequence[Spot] = (),
) -> Element:
    """Stairs of values that are kept until the next; above a factor of four, by the logarithm.

    spots  points besides, below the lines
    """
    plot = Plot(width, height, name)
    points = [point for line in lines for point in line.points]
    points += [(spot.x, spot.y) for spot in spots]
    bottom, right = height - _BOTTOM, width - _RIGHT
    x = Linear.around([at for at, _ in points], _LEFT, right, zero=True)
    y: Scale = fitting([value for _, value in points], bottom, _TOP)
    plot.x_axis(x, bottom, _TOP, x_name)
    plot.y_axis(y, _LEFT, right, y_name)
    for spot in spots:
        plot.dot((x.place(spot.x), y.place(spot.y)), spot.kind, spot.said, r=spot.r)
    for line in lines:
        drawn = [(x.place(at), y.place(value)) for at, value in line.points]
        plot.stairs(drawn, line.kind, line.name)
        if drawn:
            plot.dot(drawn[-1], line.kind, line.name, r=3.2)
    return plot.svg


def sparkline(values: Sequence[float], said: str) -> Element:
    """How a value fell, without axes, for a cell of a table."""
    plot = Plot(76, 20, said)
    plot.svg.set("class", "spark")
    x = Linear(0, max(1, len(values) - 1), 2, 74)
    y = Log.around(values, 18, 2)
    plot.stairs([(x.place(place), y.place(value)) for place, value in enumerate(values)], "s0")
    return plot.svg
