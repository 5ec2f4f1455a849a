"""A JSON object that may hold anything: what is asked for has the type asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

_LONGEST = 1000
"""Characters of a text; what is longer is no name that anybody reads."""


class Fields:
    """Members of an object read from a file that somebody may have written by hand.

    What is not there, or of another type, is empty; numbers are finite, texts cut where they are
    longer than any name.
    """

    def __init__(self, value: Any = None) -> None:
        self._members: Mapping[str, Any] = value if isinstance(value, Mapping) else {}

    def __bool__(self) -> bool:
        return bool(self._members)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def raw(self, name: str) -> Any:
        """Whatever it is."""
        return self._members.get(name)

    def text(self, name: str, default: str = "") -> str:
        value = self._members.get(name)
        return value[:_LONGEST] if isinstance(value, str) else default

    def number(self, name: str) -> float | None:
        return finite(self._members.get(name))

    def count(self, name: str) -> int:
        value = self.number(name)
        return 0 if value is None else int(value)

    def fields(self, name: str) -> Fields:
        return Fields(self._members.get(name))

    def objects(self, name: str) -> list[Fields]:
        """The objects of a list."""
        value = self._members.get(name)
        found = value if isinstance(value, list) else []
        return [Fields(one) for one in found if isinstance(one, Mapping)]

    def texts(self, name: str) -> list[str]:
        value = self._members.get(name)
        found = value if isinstance(value, list) else []
        return [one[:_LONGEST] for one in found if isinstance(one, str)]

    def numbers(self, name: str) -> list[float]:
        value = self._members.get(name)
        found = [finite(one) for one in value] if isinstance(value, list) else []
        return [one for one in found if one is not None]

    def pairs(self, name: str) -> list[tuple[float, float]]:
        """The pairs of numbers in a list."""
        rows = self.rows(name, 2)
        return [(first, second) for first, second in rows if None not in (first, second)]  # type: ignore[misc]

    def rows(self, name: str, length: int) -> list[list[float | None]]:
        """The lists of so many in a list; what in them is no number is None."""
        value = self._members.get(name)
        found = value if isinstance(value, list) else []
        fitting = (one for one in found if isinstance(one, list) and len(one) == length)
        return [[finite(cell) for cell in one] for one in fitting]

    def items(self) -> Iterator[tuple[str, Any]]:
        """Names that are texts, with whatever they have."""
        every = self._members.items()
        return ((name[:_LONGEST], value) for name, value in every if isinstance(name, str))

    def amounts(self) -> dict[str, float]:
        """The members that are numbers."""
        found = {name: finite(value) for name, value in self.items()}
        return {name: value for name, value in found.items() if value is not None}


def finite(value: Any) -> float | None:
    """A number as a float; None for all else, infinities and what is none at all."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None
