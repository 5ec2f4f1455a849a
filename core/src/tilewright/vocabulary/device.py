"""Where something was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from tilewright.canonical import canonical_json, content_key, freeze, thaw


@dataclass(frozen=True, slots=True)
class Device:
    """One piece of hardware with the software that drives it; never part of a Target or of a key.

    name           short text a user can pass to `--device` (`cpu`, `gpu0`, `emulated`)
    attributes     what the fingerprint is made of: model, isa, cores, cache bytes, clocks, software
    peak_flops     operations a second by thread count ({1: 2.88e11}), empty until measured
    bandwidth      bytes a second from main memory by thread count, empty until measured
    """

    name: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    peak_flops: Mapping[int, float] = field(default_factory=dict)
    bandwidth: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", freeze(self.attributes))
        for name in ("peak_flops", "bandwidth"):
            by_threads = dict(sorted(getattr(self, name).items()))
            object.__setattr__(self, name, MappingProxyType(by_threads))

    def __hash__(self) -> int:
        return hash((self.name, canonical_json(self.attributes)))

    @property
    def fingerprint(self) -> str:
        """Hash of the name and attributes; peaks are measurements and stay out of it."""
        return content_key([self.name, self.attributes])

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "attributes": thaw(self.attributes),
            "peak_flops": {str(k): v for k, v in self.peak_flops.items()},
            "bandwidth": {str(k): v for k, v in self.bandwidth.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Device:
        return cls(
            data["name"],
            data["attributes"],
            {int(k): v for k, v in data.get("peak_flops", {}).items()},
            {int(k): v for k, v in data.get("bandwidth", {}).items()},
        )


@runtime_checkable
class MeasuresElsewhere(Protocol):
    """An optional part of a runner's options: its times come from another device than this one."""

    def measured_on(self, device: Device) -> Device:
        """The device that records name in place of the given one, the run's.

        Raises UsageError for a file that cannot be read.
        """
