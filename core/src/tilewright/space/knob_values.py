"""One knob of an alternative: its name, kind and the values it can take."""

from __future__ import annotations

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

    AutoTVM's records call the kinds sp, re, an and ot.
    """

    name: str
    kind: KnobKind
    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        if len(self._places) != len(self.values):
            raise UsageError(
                f"knob {self.name!r} offers a value twice", remedy="list each value once"
            )

    def __len__(self) -> int:
        return len(self.values)

    def place(self, value: Any) -> int | None:
        """Position of a value, None where the knob does not offer it."""
        try:
            return self._places.get((type(value), value))
        except TypeError:  # a mapping, from a record of something else: unhashable
            return None

    @cached_property
    def _places(self) -> dict[tuple[type, Any], int]:
        # The type is part of the key because True == 1 == 1.0.
        try:
            return {(type(value), value): place for place, value in enumerate(self.values)}
        except TypeError:
            raise UsageError(
                f"knob {self.name!r}: a value is a number, text, truth value, None or lists of them"
            ) from None

    def to_json(self) -> list[Any]:
        return [self.name, self.kind, thaw(self.values)]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> KnobValues:
        """The inverse of `to_json`."""
        name, kind, values = data
        return cls(name, kind, freeze(values))
