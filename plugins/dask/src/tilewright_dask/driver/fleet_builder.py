"""A worker with cores to spare, which builds for the devices of others."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright_dask.driver.fleet_device import FleetDevice
from tilewright_dask.driver.fleet_member import FleetMember

_log = logging.getLogger("tilewright")


@dataclass(frozen=True, slots=True)
class FleetBuilder(FleetMember):
    """One worker without a device; `state` holds `state` and `built`."""

    @property
    def name(self) -> str:
        """`builder@10.0.0.7:4001`."""
        return f"builder@{self.at}"

    def disturbs(self, devices: Iterable[FleetDevice]) -> FleetDevice | None:
        """One of the devices whose cores are also its own, on the same machine."""
        for device in devices:
            shares = device.machine == self.machine and device.cores & self.cores
            if shares and not device.emulated:
                return device
        return None

    def row(self) -> dict[str, Any]:
        return {
            "worker": self.address,
            "pid": self.pid,
            "cores": sorted(self.cores),
            "state": self.state.get("state", "idle"),
            "built": self.state.get("built", 0),
        }


def undisturbing(
    members: Iterable[FleetMember], devices: Sequence[FleetDevice], told: set[str]
) -> list[FleetBuilder]:
    """The builders, without those on a device's cores.

    told   addresses of those of which a warning has told that
    """
    found = []
    for builder in members:
        if not isinstance(builder, FleetBuilder):
            continue
        device = builder.disturbs(devices)
        if device is None:
            found.append(builder)
        elif builder.address not in told:
            told.add(builder.address)
            _log.warning(
                "%s is not used: it has cores of %s; give each its own by --cores",
                builder.name,
                device.name,
            )
    return found
