"""A point of a ConfigSpace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from tilewright.canonical import canonical_json, freeze, thaw


@dataclass(frozen=True, eq=False)
class ConfigEntity:
    """An alternative's name and the value of each of its knobs; identified by values, not by index.

    strategy   name of the alternative: `STRATEGY` or `STRATEGY/VARIANT`
    values     knob name to value, in the order of definition: a split's factors as a tuple of ints
               (outermost first, complete), a reorder's permutation, an annotation's words, or any
               JSON value
    """

    strategy: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", freeze(self.values))

    @classmethod
    def of_frozen(cls, strategy: str, values: dict[str, Any]) -> ConfigEntity:
        """The config with values that are frozen already, as knobs have them; it keeps the dict."""
        made = cls.__new__(cls)
        made.__dict__.update(strategy=strategy, values=MappingProxyType(values))
        return made

    def __getitem__(self, knob: str) -> Any:
        return self.values[knob]

    def __eq__(self, other: object) -> bool:
        # By text, because True == 1 in Python and the two are different knob values.
        return self.text == other.text if isinstance(other, ConfigEntity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"ConfigEntity({self.strategy!r}, {thaw(self.values)!r})"

    @cached_property
    def text(self) -> str:
        """Canonical JSON; equal exactly for equal configs."""
        return canonical_json({"strategy": self.strategy, "values": self.values})

    def to_json(self) -> dict[str, Any]:
        return {"strategy": self.strategy, "values": thaw(self.values)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ConfigEntity:
        return cls(data["strategy"], data["values"])


@dataclass(frozen=True, slots=True)
class Layouts:
    """One opaque text per operand and per output; to core only equality matters.

    `packed` lists the operands (constants) that are rearranged at compile time, so that their
    layout costs nothing at run time and need not match any other kernel's. In AutoTVM this is
    infer_layout.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    packed: frozenset[int] = frozenset()

    @property
    def signature(self) -> tuple[tuple[str | None, ...], tuple[str, ...]]:
        """What neighbours see: the layouts with packed constants left out."""
        seen = tuple(None if i in self.packed else text for i, text in enumerate(self.inputs))
        return seen, self.outputs
