"""A device as the scheduler of a fleet tells of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from tilewright.vocabulary.device import Device
from tilewright_dask.messages import ANNOUNCEMENT, PROTOCOL, STATE


@dataclass(frozen=True, slots=True)
class FleetDevice:
    """One device of one worker.

    address   of the worker, by which Dask knows it
    kind      of the targets that it runs
    plugins   version by distribution
    seen      when the scheduler last heard of it, by the scheduler's clock
    state     what it last said: `state`, `trials`, `trials_per_second`, `drift`
    """

    address: str
    kind: str
    device: Device
    pid: int
    plugins: Mapping[str, str]
    accepts_plugins: bool
    protocol: int
    seen: float
    state: Mapping[str, Any]

    @property
    def name(self) -> str:
        """`cpu@10.0.0.7:4001`."""
        return f"{self.device.name}@{self.address.partition('://')[2]}"

    @property
    def emulated(self) -> bool:
        return bool(self.device.attributes.get("emulated"))

    def matches(self, pattern: str | None) -> bool:
        """Whether a glob means it, by its own name or with its worker's; None: not emulated."""
        if pattern is None:
            return not self.emulated
        return any(fnmatchcase(name, pattern) for name in (self.name, self.device.name))

    @classmethod
    def all_of(
        cls, identity: Mapping[str, Any], known: Mapping[str, FleetDevice] = {}
    ) -> list[FleetDevice]:
        """Every device among the workers that a scheduler's identity lists.

        known   by address, those of before: what a worker announces never changes
        """
        found = []
        for address, worker in identity["workers"].items():
            said = worker.get(ANNOUNCEMENT)
            if said is None or worker.get("status") != "running":
                continue
            seen, state = worker["last_seen"], worker["metrics"].get(STATE, {})
            before = known.get(address)
            if before is not None and before.pid == said["pid"]:
                found.append(replace(before, seen=seen, state=state))
            else:
                found.append(cls._announced(address, said, seen, state))
        return found

    @classmethod
    def _announced(
        cls, address: str, said: Mapping[str, Any], seen: float, state: Mapping[str, Any]
    ) -> FleetDevice:
        return cls(
            address,
            said["kind"],
            Device.from_json(said["device"]),
            said["pid"],
            said["plugins"],
            said["accepts_plugins"],
            said["protocol"],
            seen,
            state,
        )

    def row(self) -> dict[str, Any]:
        """What `tilewright fleet ls --json` prints of it."""
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


def groups(devices: Iterable[FleetDevice]) -> list[list[FleetDevice]]:
    """Devices of equal fingerprint together, the largest group first, then by fingerprint."""
    by_print: dict[str, list[FleetDevice]] = {}
    for device in devices:
        by_print.setdefault(device.device.fingerprint, []).append(device)
    return [by_print[name] for name in sorted(by_print, key=lambda n: (-len(by_print[n]), n))]
