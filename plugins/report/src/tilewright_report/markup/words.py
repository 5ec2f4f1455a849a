"""Numbers and names as a page writes them."""

from __future__ import annotations

from tilewright_pipeline.context.time_text import significant_text

MISSING = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"


def short(text: str, longest: int = 60) -> str:
    """The text on one line, its middle left out where it is long."""
    text = " ".join(text.split())
    if len(text) <= longest:
        return text
    head = (longest - 1) * 2 // 3
    return f"{text[:head]}\N{HORIZONTAL ELLIPSIS}{text[-(longest - 1 - head) :]}"


def fixed(value: float | None, digits: int = 0, unit: str = "") -> str:
    """With so many decimals and thousands apart, so that columns align; a dash for None."""
    return MISSING if value is None else f"{value:,.{digits}f}{unit}"


def milliseconds(value: float | None) -> str:
    """Of a network: with four significant digits."""
    return MISSING if value is None else significant_text(value)


def percent(share: float | None, digits: int = 0) -> str:
    """A share as a percentage."""
    return MISSING if share is None else f"{share * 100:.{digits}f} %"


def counted(number: int, noun: str) -> str:
    """`1 trial`, `2,000 trials`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def microseconds(seconds: float | None) -> str:
    """With one decimal."""
    return fixed(None if seconds is None else seconds * 1e6, 1)


def value_text(value: object) -> str:
    """A knob's: numbers of a split as `2x14x8`."""
    if not isinstance(value, tuple | list):
        return str(value)
    whole = all(isinstance(one, int) for one in value)
    return ("x" if whole else ", ").join(map(str, value))
