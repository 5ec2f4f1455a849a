"""What code is generated for: a kind and the attributes that change the code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tilewright.errors import UsageError

_NAME = re.compile(r"[a-z][a-z0-9_-]*\Z")
_KIND = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*/)?[a-z][a-z0-9_-]*\Z")
_VALUE = re.compile(r"[A-Za-z0-9_.+-]+\Z")


@dataclass(frozen=True, slots=True)
class Target:
    """A kind and its attributes (`KIND:isa=ISA,threads=2`); text and value convert both ways.

    A kind that several plugins offer is `OWNER/KIND`. Attributes are texts, sorted by name.
    The `Device` that it is measured on is no part of it.
    """

    kind: str
    attributes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "attributes",
            MappingProxyType({k: str(v) for k, v in sorted(self.attributes.items())}),
        )
        for form, name in ((_KIND, self.kind), *((_NAME, name) for name in self.attributes)):
            if not form.match(name):
                raise UsageError(
                    f"target: expected a lower-case name, got {name!r}",
                    remedy="write KIND:name=value,name=value, as in KIND:threads=2",
                )
        for name, value in self.attributes.items():
            if not _VALUE.match(value):
                raise UsageError(
                    f"target: attribute {name!r} has the value {value!r}",
                    remedy="letters, digits and _ . + - are allowed",
                )

    def __str__(self) -> str:
        """Canonical text, `kind:name=value,name=value`, names sorted."""
        listed = ",".join(f"{k}={v}" for k, v in self.attributes.items())
        return f"{self.kind}:{listed}" if listed else self.kind

    def __repr__(self) -> str:
        return f"Target.parse({str(self)!r})"

    def __hash__(self) -> int:
        return hash(str(self))

    def get(self, name: str, default: str = "") -> str:
        """The attribute's text, or the default where it is not given."""
        return self.attributes.get(name, default)

    @property
    def threads(self) -> int:
        """Number of threads that a kernel of this target uses; 1 where not given."""
        return int(self.attributes.get("threads", "1"))

    def replace(self, **attributes: str | int) -> Target:
        """A copy with some attributes set."""
        return Target(self.kind, {**self.attributes, **{k: str(v) for k, v in attributes.items()}})

    @classmethod
    def parse(cls, text: str) -> Target:
        """The target of a text `kind:name=value,...`. Raises UsageError."""
        kind, _, rest = text.strip().partition(":")
        attributes: dict[str, str] = {}
        for part in filter(None, rest.split(",")):
            name, equals, value = part.partition("=")
            if not equals:
                raise UsageError(
                    f"target {text!r}: expected name=value, got {part!r}",
                    remedy="write KIND:name=value,name=value, as in KIND:threads=2",
                )
            attributes[name.strip()] = value.strip()
        return cls(kind, attributes)
