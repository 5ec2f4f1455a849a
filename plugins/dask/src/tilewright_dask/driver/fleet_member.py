"""A worker as the scheduler of a fleet tells of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilewright_dask.messages import PROTOCOL


@dataclass(frozen=True, slots=True)
class FleetMember(ABC):
    """One worker, of a device or a builder.

    address   by which Dask knows it
    machine   what those have in common that share cores
    cores     numbers of those that it keeps to
    plugins   version by distribution
    seen      when the scheduler last heard of it, by the scheduler's clock
    state     what it last said
    """

    address: str
    pid: int
    machine: str
    cores: frozenset[int]
    plugins: Mapping[str, str]
    accepts_plugins: bool
    protocol: int
    seen: float
    state: Mapping[str, Any]

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called, `...@10.0.0.7:4001`."""

    @property
    def at(self) -> str:
        """Its address without the protocol."""
        return self.address.partition("://")[2]

    @abstractmethod
    def row(self) -> dict[str, Any]:
        """What `tilewright fleet ls --json` prints of it."""

    def differences(self, needed: Mapping[str, str]) -> str:
        """What it lacks of plugins of these versions, for people; empty where nothing."""
        if self.protocol != PROTOCOL:
            return f"speaks version {self.protocol} of the fleet's protocol, this is {PROTOCOL}"
        wrong = [
            f"{name} {self.plugins.get(name, 'missing')}, here {version}"
            for name, version in needed.items()
            if self.plugins.get(name) != version
        ]
        return f"has {'; '.join(wrong)}" if wrong else ""
