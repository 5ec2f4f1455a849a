"""Reads a page: its elements, texts and links, and whether it is what a browser expects."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_VOID = {"meta", "img", "br", "link", "input", "hr", "wbr"}
_FETCHING = ("src", "srcset", "poster", "data", "action", "background")


class Page(HTMLParser):
    """Raises AssertionError for elements that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.styles: list[str] = []
        self._open: list[str] = []
        assert text.startswith("<!DOCTYPE html>\n")
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag):
        assert self._open, tag
        assert self._open.pop() == tag

    def handle_data(self, data):
        inside = self._open[-1] if self._open else ""
        if inside == "style":
            self.styles.append(data)
        elif inside != "script":
            self.words.append(data)

    @property
    def text(self):
        """All that is to be read, on one line."""
        return " ".join(" ".join(self.words).split())

    def shows(self, value):
        """Whether one of its numbers is this one to four digits, to whichever side a tie rounds."""
        numbers = map(float, re.findall(r"\d+(?:\.\d+)?", self.text))
        return any(abs(number - value) <= 0.51e-3 * value for number in numbers)

    @property
    def sections(self):
        """The fragments of its parts, in order."""
        return [attributes["id"] for tag, attributes in self.elements if tag == "section"]

    @property
    def ids(self):
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]

    def tags(self, name):
        """The attributes of every element of a name."""
        return [attributes for tag, attributes in self.elements if tag == name]

    def broken_links(self):
        """Links to fragments that are not there."""
        aims = [a["href"] for a in self.tags("a")]
        return [aim for aim in aims if not aim.startswith("#") or aim[1:] not in self.ids]

    def fetched(self):
        """What a browser would ask a network for."""
        found = [
            value
            for _, attributes in self.elements
            for name, value in attributes.items()
            if name in _FETCHING and not value.startswith("data:")
        ]
        found += [a["href"] for a in self.tags("link")]
        for style in self.styles:
            found += re.findall(r"@import|url\([^)]*\)", style)
        return found

    def handlers(self):
        """Attributes that would run as scripts."""
        return [
            (tag, name)
            for tag, attributes in self.elements
            for name, value in attributes.items()
            if name.startswith("on") or value.strip().lower().startswith("javascript:")
        ]
