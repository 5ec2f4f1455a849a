"""One bar of parts: what takes which share of a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright_report.markup.element import Element, element


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
    """The parts in order, side by side; on a narrow screen as long as it, with fewer labels."""
    whole = sum(part.amount for part in parts) or 1.0
    return element(
        "div",
        *(_drawn(part, part.amount / whole) for part in parts),
        class_="whole",
        role="group",
        aria_label=name,
    )


def _drawn(part: Part, share: float) -> Element:
    return element(
        "a" if part.href else "span",
        element("b", part.label),
        class_=f"part {part.kind}",
        href=part.href or None,
        title=part.said,
        style=f"flex-grow:{share:.5f}",
    )
