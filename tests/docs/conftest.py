"""Reads the examples of a Markdown page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

_BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file that it is said to be, and where it begins."""

    language: str
    file: str
    text: str
    line: int

    def commands(self) -> Iterator[tuple[str, str]]:
        """Of a console: each command, and what is shown behind it."""
        for part in re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            yield command, shown


@pytest.fixture(scope="session")
def blocks():
    """A function that gives the fenced blocks of a page, in order."""

    def read(path: Path) -> list[Block]:
        text = path.read_text(encoding="utf-8")
        return [
            Block(found[1], found[2] or "", found[3], text.count("\n", 0, found.start()) + 1)
            for found in _BLOCK.finditer(text)
        ]

    return read
