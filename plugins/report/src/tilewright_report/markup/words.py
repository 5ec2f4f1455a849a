"""Numbers and names as a page writes them."""

from __future__ import annotations

from collections.abc import Iterable

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


def significant(value: float | None) -> str:
    """With four significant digits."""
    return MISSING if value is None else significant_text(value)


def time_unit(milliseconds: Iterable[float | None]) -> tuple[str, float]:
    """In which unit times of networks are short to read, and how many of it a millisecond has."""
    known = [value for value in milliseconds if value]
    return ("us", 1e3) if known and min(known) < 0.1 else ("ms", 1.0)


def percent(share: float | None, digits: int = 0) -> str:
    """A share as a percentage; what would be rounded to nothing is `< 0.1 %`."""
    if share is None:
        return MISSING
    least = 10.0**-digits
    rounded_off = 0 < share * 100 < least / 2
    return f"< {least:.{digits}f} %" if rounded_off else f"{share * 100:.{digits}f} %"


def counted(number: int, noun: str) -> str:
    """`1 trial`, `2,000 trials`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def microseconds(seconds: float | None) -> str:
    """With one decimal, below ten with three significant digits."""
    if seconds is None:
        return MISSING
    value = seconds * 1e6
    least = next((digits for digits, size in ((1, 9.995), (2, 0.9995)) if abs(value) >= size), 3)
    return fixed(value, least if value else 1)


def value_text(value: object) -> str:
    """A knob's: numbers of a split as `2x14x8`."""
    if not isinstance(value, tuple | list):
        return str(value)
    whole = all(isinstance(one, int) for one in value)
    return ("x" if whole else ", ").join(map(str, value))
