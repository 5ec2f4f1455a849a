"""The frame of a chart: axes with marks and names, and a place for what is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilewright_report.charts.scale import Scale
from tilewright_report.markup.element import Child, Element, element

Point = tuple[float, float]
WIDE, HALF = 1136.0, 540.0
"""Widths of a drawing: as wide as the page, and of one of two side by side."""


class Plot:
    """A drawing of a width and a height, to which marks are added in order.

    Colours are classes, `s0` to `s7`, so that they follow the page's styles. What a mark says when
    it is pointed at is its `title`.
    """

    def __init__(self, width: float, height: float, name: str) -> None:
        self.width, self.height = width, height
        self.svg = element(
            "svg",
            element("title", name),
            class_="chart" if width > HALF else "chart half",
            role="img",
            aria_label=name,
            viewbox=f"0 0 {width:g} {height:g}",
            style=f"max-width:{width:g}px",
        )

    def add(self, made: Element) -> Element:
        """Put a mark on top."""
        self.svg.append(made)
        return made

    def x_axis(self, scale: Scale, y: float, top: float, name: str) -> None:
        """Marks below `y`, lines up to `top`, the name below the right end."""
        for value, text in scale.ticks():
            x = scale.place(value)
            self.line((x, y), (x, top), "grid")
            self.text((x, y + 15), text, "tick", "middle")
        self.text((self.width - 4, y + 31), name, "axis", "end")

    def y_axis(self, scale: Scale, x: float, right: float, name: str) -> None:
        """Marks left of `x`, lines to the right, the name above."""
        for value, text in scale.ticks():
            y = scale.place(value)
            self.line((x, y), (right, y), "grid")
            self.text((x - 6, y + 4), text, "tick", "end")
        self.text((4, 12), name, "axis", "start")

    def line(self, start: Point, end: Point, kind: str) -> Element:
        (x1, y1), (x2, y2) = start, end
        made = element("line", class_=kind, x1=_n(x1), y1=_n(y1), x2=_n(x2), y2=_n(y2))
        return self.add(made)

    def path(self, points: Sequence[Point], kind: str, said: str = "") -> Element:
        """A line through the points."""
        drawn = "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
        return self.add(element("path", _said(said), class_=f"line {kind}", d=drawn))

    def stairs(self, points: Sequence[Point], kind: str, said: str = "") -> Element:
        """A line that keeps each value until the next point."""
        corners = list(points[:1])
        for x, y in points[1:]:
            corners += [(x, corners[-1][1]), (x, y)]
        return self.path(corners, kind, said)

    def dot(self, at: Point, kind: str, said: str = "", *, r: float = 3, href: str = "") -> Element:
        x, y = at
        made = element("circle", _said(said), class_=f"dot {kind}", cx=_n(x), cy=_n(y), r=_n(r))
        return self.add(element("a", made, href=href) if href else made)

    def bar(
        self, corner: Point, size: Point, kind: str, said: str = "", *, href: str = ""
    ) -> Element:
        (x, y), (width, height) = corner, size
        place = {"x": _n(x), "y": _n(y), "width": _n(max(width, 0)), "height": _n(height)}
        made = element("rect", _said(said), class_=f"bar {kind}", rx="2", **place)
        return self.add(element("a", made, href=href) if href else made)

    def text(self, at: Point, text: str, kind: str, anchor: str = "start") -> Element:
        x, y = at
        return self.add(element("text", text, class_=kind, x=_n(x), y=_n(y), text_anchor=anchor))


def legend(names: Iterable[tuple[str, str]]) -> Element:
    """A line of (class of colour, name), below or above a chart."""
    items: list[Child] = [
        element("span", element("i", class_=f"key {kind}"), name) for kind, name in names
    ]
    return element("p", *items, class_="legend")


def _said(text: str) -> Element | None:
    return element("title", text) if text else None


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
