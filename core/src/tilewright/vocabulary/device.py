"""Where something was measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from tilewright.canonical import canonical_json, content_key, freeze, thaw

_CACHE = re.compile(r"l\d_bytes")  # how devices name their caches


@dataclass(frozen=True)
class Device:
    """One piece of hardware with the software that drives it; never part of a Target or of a key.

    name           short text a user can pass to `--device` (`cpu`, `gpu0`, `emulated`)
    attributes     what the fingerprint is made of: model, isa, cores, cache bytes, clocks, software
                   (a function in place of one that costs something: called when it is asked for)
    peak_flops     float32 operations a second by thread count ({1: 2.88e11}), empty until measured
    bandwidth      bytes a second from main memory by thread count, empty until measured
    peaks          as `peak_flops`, of what has instructions of its own: by `PRECISION/INSTRUCTION`
                   (`bfloat16/vdpbf16ps`)
    """

    name: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    peak_flops: Mapping[int, float] = field(default_factory=dict)
    bandwidth: Mapping[int, float] = field(default_factory=dict)
    peaks: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.attributes, _Attributes):
            object.__setattr__(self, "attributes", _Attributes(self.attributes))
        for name in ("peak_flops", "bandwidth"):
            object.__setattr__(self, name, _by_threads(getattr(self, name)))
        peaks = {name: _by_threads(known) for name, known in sorted(self.peaks.items())}
        object.__setattr__(self, "peaks", MappingProxyType(peaks))

    def __hash__(self) -> int:
        return hash((self.name, canonical_json(self.attributes)))

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the name and attributes; peaks are measurements and stay out of it."""
        return content_key([self.name, self.attributes])

    @property
    def emulated(self) -> bool:
        """Whether its times are no hardware's: it is used only where it is named."""
        return bool(self.attributes.get("emulated"))

    @property
    def cache_bytes(self) -> int:
        """Of the last-level cache; 0 of a device that tells none."""
        sizes = (size for name, size in self.attributes.items() if _CACHE.fullmatch(name))
        return int(max(sizes, default=0))

    def peak(self, arithmetic: str, threads: int) -> float | None:
        """Operations a second of a precision's fastest instruction, or of the one that is named.

        `float32`, `bfloat16` or `bfloat16/vdpbf16ps`; None where it was not measured.
        """
        every = {"float32": self.peak_flops, **self.peaks}
        found = (
            known.get(threads)
            for name, known in every.items()
            if arithmetic in (name, name.partition("/")[0])
        )
        return max((flops for flops in found if flops is not None), default=None)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "attributes": thaw(self.attributes),
            "peak_flops": _to_json(self.peak_flops),
            "bandwidth": _to_json(self.bandwidth),
            "peaks": {name: _to_json(known) for name, known in self.peaks.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Device:
        return cls(
            data["name"],
            data["attributes"],
            _from_json(data.get("peak_flops", {})),
            _from_json(data.get("bandwidth", {})),
            {name: _from_json(known) for name, known in data.get("peaks", {}).items()},
        )


class _Attributes(Mapping[str, Any]):
    """Read-only all the way down; what a function gives is kept."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._known = {str(name): freeze(value) for name, value in given.items()}

    def __getitem__(self, name: str) -> Any:
        value = self._known[name]
        if callable(value):
            value = self._known[name] = freeze(value())
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        return repr(dict(self))


def _by_threads(figures: Mapping[int, float]) -> Mapping[int, float]:
    return MappingProxyType(dict(sorted(figures.items())))


def _to_json(figures: Mapping[int, float]) -> dict[str, float]:
    return {str(threads): figure for threads, figure in figures.items()}


def _from_json(data: Mapping[str, float]) -> dict[int, float]:
    return {int(threads): figure for threads, figure in data.items()}


@runtime_checkable
class MeasuresElsewhere(Protocol):
    """An optional part of a runner's options: its times come from another device than this one."""

    def measured_on(self, device: Device) -> Device:
        """The device that records name in place of the given one, the run's.

        Raises UsageError for a file that cannot be read.
        """
