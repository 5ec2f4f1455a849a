"""Texts of strangers on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text without control characters: names come from files, these would steer a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
