"""Elements of HTML and SVG, whose texts cannot become markup."""

from __future__ import annotations

from xml.etree.ElementTree import Element, tostring

Child = Element | str | None
_KEPT = frozenset("\n\t")


def element(tag: str, *children: Child, **attributes: object) -> Element:
    """An element of HTML or SVG; children are elements or texts, None is left out.

    Attributes are named with `_` for `-`, and with a last `_` where Python has the word: `class_`.
    Those that are None or False are left out, True is an attribute without a value.
    """
    made = Element(tag)
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        known = name.rstrip("_").replace("_", "-")
        made.set(_SPELLED.get(known, known), "" if value is True else clean(str(value)))
    for child in children:
        append(made, child)
    return made


_SPELLED = {"viewbox": "viewBox"}
"""Attributes of SVG that are not in lower case."""


def append(parent: Element, child: Child) -> None:
    """Put a child behind those that an element has."""
    if child is None:
        return
    if isinstance(child, Element):
        parent.append(child)
    elif len(parent):
        parent[-1].tail = (parent[-1].tail or "") + clean(child)
    else:
        parent.text = (parent.text or "") + clean(child)


def clean(text: str) -> str:
    """The text without control characters, half surrogates and marks that turn its direction."""
    return "".join(
        c if c.isprintable() or c in _KEPT else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def text_of(root: Element) -> str:
    """The markup of an element."""
    return tostring(root, encoding="unicode", method="html")


__all__ = ["Child", "Element", "append", "clean", "element", "text_of"]
