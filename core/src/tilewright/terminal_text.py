"""Untrusted texts on a terminal."""

from __future__ import annotations

_LONGEST = 2000
"""Characters of a line; what is longer is no name that anybody reads."""

_END = 400
"""Of them, those kept of the line's end."""


def brief(text: str, longest: int = 60) -> str:
    """The text, printable and cut to so many characters: a name among others on one line."""
    text = printable(text)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def printable(text: str) -> str:
    """The text on one line, without control characters, and its middle left out where it is long.

    Names come from files: these would steer a terminal, or fill it.
    """
    left_out = len(text) - _LONGEST
    if left_out > 0:
        text = f"{text[: _LONGEST - _END]} ...{left_out} characters... {text[-_END:]}"
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
