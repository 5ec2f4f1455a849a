"""A device as the scheduler of a fleet tells of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from tilewright.vocabulary.device import Device
from tilewright_dask.driver.fleet_member import FleetMember


@dataclass(frozen=True, slots=True)
class FleetDevice(FleetMember):
    """One device of one worker.

    kind      of the targets that it runs

    Its `state` holds `state`, `trials`, `trials_per_second` and `drift`.
    """

    kind: str
    device: Device

    @property
    def name(self) -> str:
        """`cpu@10.0.0.7:4001`."""
        return f"{self.device.name}@{self.at}"

    @property
    def emulated(self) -> bool:
        return bool(self.device.attributes.get("emulated"))

    def matches(self, pattern: str | None) -> bool:
        """Whether a glob means it, by its own name or with its worker's; None: not emulated."""
        if pattern is None:
            return not self.emulated
        return any(fnmatchcase(name, pattern) for name in (self.name, self.device.name))

    def row(self) -> dict[str, Any]:
        return {
            "device": self.name,
            "fingerprint": self.device.fingerprint,
            "worker": self.address,
            "pid": self.pid,
            "state": self.state.get("state", "idle"),
            "trials": self.state.get("trials", 0),
            "trials_per_second": self.state.get("trials_per_second", 0.0),
            "drift": self.state.get("drift", 0.0),
        }


def groups(devices: Iterable[FleetDevice]) -> list[list[FleetDevice]]:
    """Devices of equal fingerprint together, the largest group first, then by fingerprint."""
    by_print: dict[str, list[FleetDevice]] = {}
    for device in devices:
        by_print.setdefault(device.device.fingerprint, []).append(device)
    return [by_print[name] for name in sorted(by_print, key=lambda n: (-len(by_print[n]), n))]
