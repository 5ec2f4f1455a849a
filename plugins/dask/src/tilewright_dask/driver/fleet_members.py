"""Who is announced to a fleet's scheduler: devices, and builders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tilewright.vocabulary.device import Device
from tilewright_dask.driver.fleet_builder import FleetBuilder
from tilewright_dask.driver.fleet_device import FleetDevice
from tilewright_dask.driver.fleet_member import FleetMember
from tilewright_dask.messages import ANNOUNCEMENT, STATE


def members_of(
    identity: Mapping[str, Any], known: Mapping[str, FleetMember] = {}
) -> list[FleetMember]:
    """Every device and builder among the workers that a scheduler's identity lists.

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
            found.append(_announced(address, said, seen, state))
    return found


def _announced(
    address: str, said: Mapping[str, Any], seen: float, state: Mapping[str, Any]
) -> FleetMember:
    told = (
        address,
        said["pid"],
        said["machine"],
        frozenset(said["cores"]),
        said["plugins"],
        said["accepts_plugins"],
        said["protocol"],
        seen,
        state,
    )
    if "device" not in said:
        return FleetBuilder(*told)
    return FleetDevice(*told, said["kind"], Device.from_json(said["device"]))
