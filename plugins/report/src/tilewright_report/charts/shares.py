"""One bar of parts: what takes which share of a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright_report.charts.plot import Plot
from tilewright_report.markup.element import Element

_WIDTH, _HEIGHT = 1100.0, 36.0
_LETTER = 6.6


@dataclass(frozen=True, slots=True)
class Part:
    """A part with the amount that it has of the whole.

    label  written on it where there is room
    said   when it is pointed at
    """

    label: str
    amount: float
    kind: str
    said: str
    href: str = ""


def shares(parts: Sequence[Part], name: str) -> Element:
    """The parts in order, side by side."""
    plot = Plot(_WIDTH, _HEIGHT, name)
    whole = sum(part.amount for part in parts) or 1.0
    x = 0.0
    for part in parts:
        width = part.amount / whole * _WIDTH
        plot.bar((x, 0), (max(width - 1.5, 0.4), _HEIGHT), part.kind, part.said, href=part.href)
        letters = int((width - 12) / _LETTER)
        if letters >= 4:
            fits = len(part.label) <= letters
            label = part.label if fits else f"{part.label[: letters - 1]}\u2026"
            plot.text((x + 6, 21), label, "inside")
        x += width
    return plot.svg
