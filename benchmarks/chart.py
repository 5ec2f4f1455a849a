"""A chart of results as SVG: a line a case, a mark a measurement, readable on light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from xml.etree.ElementTree import Element, SubElement, indent, tostring

_PLOT, _MARGIN = 400.0, 16.0
_LETTER = 7.0
"""Width of a letter of a label, about."""
_LINE, _HEAD, _FOOT = 20.0, 46.0, 40.0
_LEGEND = 260.0
"""The legend stands left of the axis, below the labels."""
_MARKS = 7
"""Width of a mark."""
_COLOURS = ("#1f7fd1", "#d9730d", "#1a9467", "#b8489a", "#8a7a12", "#6f6fd8")
_LOGARITHMIC = 4.0
"""From this ratio of the largest to the least on, places are by the logarithm."""
_STYLE = """
.ground { fill: #ffffff; }
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.title { font-weight: 600; }
.axis, .small { fill: #59636e; font-size: 11px; }
.grid { stroke: #d1d9e0; }
.goal { stroke: #59636e; stroke-dasharray: 4 3; }
.hollow { fill: none; }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117; }
text { fill: #e6edf3; }
.axis, .small { fill: #9198a1; }
.grid { stroke: #3d444d; }
.goal { stroke: #9198a1; }
}
""" + "".join(
    f".s{number} {{ stroke: {colour}; stroke-width: 1.5; }}\n"
    f".s{number}:not(.hollow) {{ fill: {colour}; }}\n"
    for number, colour in enumerate(_COLOURS)
)


@dataclass(frozen=True)
class Mark:
    """A figure of a case; `hollow` where the machine was not left alone."""

    case: str
    series: str
    value: float
    hollow: bool = False


@dataclass(frozen=True)
class _Scale:
    """Places right of the labels, which end at `left`."""

    left: float
    low: float
    high: float
    logarithmic: bool

    @classmethod
    def over(cls, left: float, values: Sequence[float]) -> _Scale:
        low, high = min(values), max(values)
        if low > 0 and high / low > _LOGARITHMIC:
            return cls(left, low / 1.15, high * 1.15, logarithmic=True)
        step = _step(high - low or abs(high) or 1.0)
        return cls(
            left, floor(low / step) * step, (floor(high / step) + 1) * step, logarithmic=False
        )

    def place(self, value: float) -> float:
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = log10(low), log10(high), log10(value)
        return self.left + _PLOT * (value - low) / (high - low)

    def ticks(self) -> list[float]:
        if self.logarithmic:
            decades = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
            found = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
        else:
            step = _step(self.high - self.low)
            first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
            found = [step * number for number in range(first, last + 1)]
        return [tick for tick in found if self.low <= tick * (1 + 1e-9) and tick <= self.high]


def chart(title: str, axis: str, marks: Sequence[Mark], goal: float | None) -> str:
    """A self-contained SVG; cases and series from the first that occurs on."""
    cases = list(dict.fromkeys(mark.case for mark in marks))
    series = list(dict.fromkeys(mark.series for mark in marks))
    left = max(_LEGEND, _LETTER * max(map(len, cases))) + _MARGIN
    scale = _Scale.over(left, [mark.value for mark in marks] + ([] if goal is None else [goal]))
    width = left + _PLOT + 2 * _MARGIN
    bottom = _HEAD + _LINE * len(cases)
    size = {"viewBox": f"0 0 {width:.0f} {bottom + _FOOT:.0f}", "width": f"{width:.0f}"}
    svg = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", **size})
    SubElement(svg, "title").text = title
    SubElement(svg, "style").text = _STYLE
    # A page may be dark where its reader's system is light: the ground goes with the text.
    ground = {"class": "ground", "width": "100%", "height": "100%"}
    SubElement(svg, "rect", ground)
    _text(svg, 2, 14, title, "title")
    for tick in scale.ticks():
        _line(svg, scale.place(tick), bottom, "grid")
        _text(svg, scale.place(tick), bottom + 14, f"{tick:g}", "axis", "middle")
    _text(svg, left + _PLOT / 2, bottom + 32, axis, "axis", "middle")
    if goal is not None:
        _line(svg, scale.place(goal), bottom, "goal")
        _text(svg, scale.place(goal), _HEAD - 6, "goal", "small", "middle")
    for number, case in enumerate(cases):
        _text(svg, left - 12, _HEAD + _LINE * (number + 0.7), case, "case", "end")
    for mark in marks:
        y = _HEAD + _LINE * (cases.index(mark.case) + 0.5)
        number = series.index(mark.series)
        _shape(svg, number, scale.place(mark.value), y, hollow=mark.hollow)
    _legend(svg, series, bottom + 14, any(mark.hollow for mark in marks))
    indent(svg, " ")
    return tostring(svg, encoding="unicode") + "\n"


def _legend(svg: Element, series: Sequence[str], y: float, hollow: bool) -> None:
    x = 6.0
    for number, name in enumerate(series):
        _shape(svg, number, x, y - 4, hollow=False)
        _text(svg, x + 9, y, name, "small")
        x += 24 + 6.2 * len(name)
    if hollow:
        _text(svg, 2, y + 18, "hollow: others worked on the machine", "small")


def _shape(svg: Element, series: int, x: float, y: float, *, hollow: bool) -> None:
    """A form and a colour a series: circle, square, diamond."""
    kind = {"class": f"s{series % len(_COLOURS)}{' hollow' * hollow}"}
    half = _MARKS / 2
    match series % 3:
        case 0:
            place = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{half:.1f}"}
            SubElement(svg, "circle", {**kind, **place})
        case 1:
            place = {"x": f"{x - half:.1f}", "y": f"{y - half:.1f}"}
            SubElement(svg, "rect", {**kind, **place, "width": f"{_MARKS}", "height": f"{_MARKS}"})
        case _:
            reach = half + 1
            path = f"M{x:.1f} {y - reach:.1f}l{reach} {reach}l{-reach} {reach}l{-reach} {-reach}z"
            SubElement(svg, "path", {**kind, "d": path})


def _line(svg: Element, x: float, bottom: float, kind: str) -> None:
    ends = {"x1": f"{x:.1f}", "x2": f"{x:.1f}", "y1": f"{_HEAD:.0f}", "y2": f"{bottom:.0f}"}
    SubElement(svg, "line", {"class": kind, **ends})


def _text(  # noqa: PLR0917  as attributes of the element
    svg: Element, x: float, y: float, text: str, kind: str, anchor: str = "start"
) -> None:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "class": kind, "text-anchor": anchor}
    SubElement(svg, "text", place).text = text


def _step(span: float) -> float:
    """1, 2 or 5 times a power of ten, so that some five fit."""
    power = 10.0 ** floor(log10(span / 5))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit * 5 >= span)
