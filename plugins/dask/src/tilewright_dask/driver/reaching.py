"""Which devices of a fleet a run uses, and what its target means there."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tilewright.errors import UsageError
from tilewright.roles import Reached
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright_dask.driver.fleet_device import FleetDevice, groups
from tilewright_dask.driver.fleet_link import FleetLink
from tilewright_dask.driver.fleet_member import FleetMember
from tilewright_dask.messages import raise_mistake
from tilewright_dask.worker.announcement import installed_plugins

if TYPE_CHECKING:
    from tilewright_dask.driver.options import DaskRunnerOptions

_log = logging.getLogger("tilewright")
_LOOK_SECONDS = 0.2
_TELL_SECONDS = 2.0
OWN = ("tilewright", "tilewright-dask", "tilewright-measure")
"""Distributions whose versions are equal wherever devices are asked for anything."""


def resolve_target(options: DaskRunnerOptions, text: str | None) -> Target:
    """What a text means on the largest group of devices of its kind."""
    kind = (text or "").partition(":")[0].strip()
    link = FleetLink.of(options.scheduler, options.tls)

    def found(devices: list[FleetDevice]) -> list[FleetDevice]:
        real = [one for one in devices if not one.emulated] or devices
        same = [one for one in real if _same_kind(one.kind, kind)]
        return same or ([] if kind in {one.kind for one in devices} else real)

    device = groups(_wait(link, options.wait_seconds, found, "any device"))[0][0]
    _check_versions([device])
    reply = link.run(link.ask(device, {"do": "resolve", "text": text}))
    raise_mistake(reply, device.name)
    return Target.parse(reply["target"])


def reach(options: DaskRunnerOptions, target: Target, pattern: str | None) -> Reached:
    """The largest group of devices of one fingerprint that the pattern matches."""
    link = FleetLink.of(options.scheduler, options.tls)

    def found(devices: list[FleetDevice]) -> list[FleetDevice]:
        return [
            one for one in devices if _same_kind(one.kind, target.kind) and one.matches(pattern)
        ]

    wanted = f"a device for {target}" + (f" that is called {pattern}" if pattern else "")
    devices, *others = groups(_wait(link, options.wait_seconds, found, wanted))
    if others:
        _log.warning(
            "devices of another kind than %s are left out: %s; --device GLOB chooses",
            devices[0].name,
            ", ".join(one.name for group in others for one in group),
        )
    _check_versions(devices)
    request = {"do": "reach", "target": str(target)}
    reply = link.run(link.ask(devices[0], request))
    raise_mistake(reply, devices[0].name)
    device = Device.from_json(reply["device"])
    link.patterns[device.fingerprint] = pattern
    return Reached(Target.parse(reply["target"]), device, tuple(one.name for one in devices))


def _same_kind(announced: str, asked: str) -> bool:
    """Whether two kinds are one; `OWNER/KIND` is a KIND."""
    return announced.rpartition("/")[2] == asked.rpartition("/")[2]


def _wait(
    link: FleetLink,
    seconds: float,
    found: Callable[[list[FleetDevice]], list[FleetDevice]],
    what: str,
) -> list[FleetDevice]:
    """What is found among the devices, once it is something. Raises UsageError in the end."""
    return link.run(_found(link, seconds, found, what))


async def _found(
    link: FleetLink,
    seconds: float,
    found: Callable[[list[FleetDevice]], list[FleetDevice]],
    what: str,
) -> list[FleetDevice]:
    began, told = time.monotonic(), False
    while True:
        devices = await link.devices()
        if chosen := found(devices):
            return chosen
        waited = time.monotonic() - began
        if waited >= seconds:
            known = ", ".join(one.name for one in devices)
            raise UsageError(
                f"{link.scheduler} has not {what}, for {seconds:g} s",
                where="device",
                remedy=f"there is {known}" if known else "start one: tilewright fleet worker",
            )
        if waited > _TELL_SECONDS and not told:
            told = True
            _log.warning("waiting for %s at %s", what, link.scheduler)
        await asyncio.sleep(_LOOK_SECONDS)


def _check_versions(devices: list[FleetDevice]) -> None:
    own = installed_plugins()
    check_versions(devices, {name: own[name] for name in OWN if name in own})


def check_versions(members: Sequence[FleetMember], needed: dict[str, str]) -> None:
    """Raise UsageError where one of them has other versions of these distributions."""
    for member in members:
        if difference := member.differences(needed):
            raise UsageError(
                f"its worker {difference}",
                where=member.name,
                remedy="install equal versions on workers and driver",
            )
