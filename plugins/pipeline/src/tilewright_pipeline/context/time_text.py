"""Times for people: four significant digits, whether a call takes nanoseconds or minutes."""

from __future__ import annotations

import math

from tilewright.roles import Ranked

_DIGITS = 4
_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


def time_text(seconds: float) -> str:
    """In the unit that suits it.

    >>> time_text(0.0172083), time_text(2.134e-07)
    ('17.21 ms', '213.4 ns')
    """
    fits = (unit for unit in _UNITS if abs(seconds) >= unit[1])
    name, size = next(fits, _UNITS[-1] if seconds else _UNITS[0])
    return f"{significant_text(seconds / size)} {name}"


def milliseconds_text(seconds: float) -> str:
    """For a table whose head has the unit.

    >>> milliseconds_text(0.0172083), milliseconds_text(2.134e-07)
    ('17.21', '0.0002134')
    """
    return significant_text(seconds * 1e3)


def significant_text(value: float) -> str:
    """A number with four significant digits and without an exponent; 0 is `0`."""
    if not value or not math.isfinite(value):
        return f"{value:g}"
    exponent = int(f"{value:.{_DIGITS - 1}e}".partition("e")[2])  # of the rounded value
    decimals = _DIGITS - 1 - exponent
    return f"{value:.{max(0, decimals)}f}"


def ranked_text(ranked: Ranked) -> str:
    """A config's own time, and that by which it is ranked where it had lost to finalists."""
    own = ranked.record.seconds
    assert own is not None
    later = f", ranked as {time_text(ranked.seconds)}" if own < ranked.seconds else ""
    return f"{time_text(own)}{later}"
