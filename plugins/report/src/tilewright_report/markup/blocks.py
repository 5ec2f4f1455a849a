"""Sections, facts, notes and tables of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewright_report.markup.element import Child, Element, element


@dataclass(frozen=True, slots=True)
class Number:
    """A cell that is sorted by its value; `share`, from 0 to 1, draws a bar behind it."""

    text: str
    value: float | None
    share: float | None = None


Row = list[str | Element | Number]


@dataclass(frozen=True, slots=True)
class Head:
    """A column: its name, whether it is of numbers, what it means, whether it needs room."""

    name: str
    numeric: bool = False
    said: str = ""
    wide: bool = False


def section(anchor: str, title: str, *children: Child) -> Element:
    """A part of the page that its navigation leads to."""
    return element("section", element("h2", title), *children, id=anchor)


def note(*children: Child) -> Element:
    """A remark."""
    return element("p", *children, class_="note")


def figure(drawn: Element, caption: str = "", below: Element | None = None) -> Element:
    """A chart with what it says."""
    told = element("figcaption", caption) if caption else None
    return element("figure", told, element("div", drawn, class_="scroll"), below)


def facts(pairs: Iterable[tuple[str, Child]]) -> Element:
    """Names with what they are; those without are left out."""
    rows: list[Child] = []
    for name, told in pairs:
        if told is not None and told != "":
            rows += [element("dt", name), element("dd", told)]
    return element("dl", *rows, class_="facts")


def folded(summary: Child, *children: Child, anchor: str | None = None) -> Element:
    """What is shown when its line is clicked."""
    inside = element("div", *children, class_="inside-fold")
    return element("details", element("summary", summary), inside, id=anchor)


def folds(parts: Iterable[Element]) -> Element:
    """Lines to open, one below the other without gaps."""
    return element("div", *parts, class_="folds")


def task_name(text: str) -> Element:
    """A long name, broken behind the operators that are fused where it does not fit."""
    first, *fused = text.split("+")
    parts = ((element("wbr"), f"+{part}") for part in fused)
    return element("span", first, *(child for pair in parts for child in pair))


def code(text: str) -> Element:
    """Text as it is."""
    return element("pre", element("code", text))


def table(
    heads: Sequence[Head],
    rows: Iterable[Sequence[str | Element | Number]],
    *,
    sortable: bool = True,
) -> Element:
    """A table; the script of the page sorts it by the column that is clicked."""
    top = [
        element("th", one.name, class_="n" if one.numeric else None, title=one.said or None)
        for one in heads
    ]
    body = element("tbody")
    for row in rows:
        cells = zip(heads, row, strict=True)
        body.append(element("tr", *(_cell(head, cell) for head, cell in cells)))
    made = element(
        "table",
        element("thead", element("tr", *top)),
        body,
        class_="sortable" if sortable and len(body) > 1 else None,
    )
    return element("div", made, class_="scroll")


def _cell(head: Head, cell: str | Element | Number) -> Element:
    kind = "n" if head.numeric else "wide" if head.wide else None
    if not isinstance(cell, Number):
        return element("td", cell, class_=kind)
    sort = None if cell.value is None else f"{cell.value:.9g}"
    made = element("td", cell.text, class_=kind, data_v=sort)
    if cell.share is not None:
        made.set("class", "n share")
        made.set("style", f"--w:{max(0.0, min(1.0, cell.share)) * 100:.1f}%")
    return made
