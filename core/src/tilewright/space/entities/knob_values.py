"""One knob of an alternative: its name, kind and the values it can take."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from tilewright.canonical import freeze, thaw
from tilewright.errors import UsageError

KnobKind = Literal["split", "reorder", "annotate", "other"]


@dataclass(frozen=True)
class KnobValues:
    """A knob and its values in order of declaration; values are scalars or tuples, each once.

    AutoTVM's records call the kinds sp, re, an and ot. Raises UsageError for values that a record
    would not give back as they are, such as numbers of numpy's or members of an enumeration.
    """

    name: str
    kind: KnobKind
    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        if strange := [value for value in self.values if not _is_kept(value)]:
            raise UsageError(
                f"knob {self.name!r} offers {reprlib.repr(strange[0])}, a "
                f"{type(strange[0]).__name__} that no record gives back",
                remedy="a value is an int, a finite float, a str, a bool, None or lists of them",
            )
        if len(self._places) != len(self.values):
            raise UsageError(
                f"knob {self.name!r} offers a value twice", remedy="list each value once"
            )

    def __len__(self) -> int:
        return len(self.values)

    def place(self, value: Any) -> int | None:
        """Position of a value, None where the knob does not offer it: 1.0 and True are no 1."""
        try:
            place = self._places.get((type(value), value))
        except TypeError:  # a mapping, from a record of something else: unhashable
            return None
        if place is None or self.values[place] is value:  # as in every config that a space made
            return place
        return place if _alike(value, self.values[place]) else None

    @cached_property
    def _places(self) -> dict[tuple[type, Any], int]:
        # The type is part of the key because True == 1 == 1.0; `place` looks into lists.
        return {(type(value), value): place for place, value in enumerate(self.values)}

    def to_json(self) -> list[Any]:
        return [self.name, self.kind, thaw(self.values)]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> KnobValues:
        """The inverse of `to_json`."""
        name, kind, values = data
        return cls(name, kind, freeze(values))


def _alike(value: Any, other: Any) -> bool:
    """Whether equal values are of equal types, all the way down."""
    if type(value) is not type(other):
        return False
    return not isinstance(value, tuple) or all(map(_alike, value, other))


def _is_kept(value: Any) -> bool:
    """Whether JSON gives back a value of the same type."""
    if isinstance(value, tuple):
        return all(map(_is_kept, value))
    return type(value) in (int, str, bool, type(None)) or (
        type(value) is float and math.isfinite(value)
    )
