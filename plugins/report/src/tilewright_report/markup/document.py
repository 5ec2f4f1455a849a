"""The whole document: styles and script inside, nothing fetched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tilewright.reading import read_file
from tilewright_report.markup.element import Element, element, text_of

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""What the browser may do with the page, whatever a name in it contains."""


def document(title: str, head: Element, sections: Sequence[Element]) -> str:
    """The page; its navigation names the sections by their headings."""
    links = [
        element("a", part.findtext("h2") or "", href=f"#{part.get('id')}") for part in sections
    ]
    here = Path(__file__).parent
    style, script = (read_file(here / name).decode() for name in ("page.css", "page.js"))
    page = element(
        "html",
        element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("title", title),
            _raw("style", style),
        ),
        element(
            "body",
            element("header", element("div", head)),
            element("nav", element("div", element("p", *links))) if links else None,
            element("main", *sections, element("footer", "Made by tilewright report.")),
            _raw("script", script),
        ),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{text_of(page)}\n"


def _raw(tag: str, text: str) -> Element:
    """Our own style or script; the serialiser leaves the text of these two as it is."""
    made = Element(tag)
    made.text = text
    return made
