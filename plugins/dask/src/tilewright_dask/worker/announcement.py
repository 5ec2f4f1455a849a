"""What a worker says of itself when it comes."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.errors import UsageError, did_you_mean
from tilewright.plugins.loading.owner import PLUGIN_GROUP, owner_of
from tilewright.reading import read_file
from tilewright.vocabulary.device import Device
from tilewright_dask.messages import PROTOCOL, raise_mistake
from tilewright_dask.worker.probe import probe


@dataclass(frozen=True, slots=True)
class OwnDevice:
    """A device of this machine, and the kind of target that it runs."""

    kind: str
    device: Device


def find_own_device(name: str, files: Sequence[Path]) -> OwnDevice:
    """The device of a name. Raises UsageError where this machine has none.

    files   plugin files that may bring targets
    """
    found = _own_devices(files)
    for one in found:
        if one.device.name == name:
            return one
    known = [one.device.name for one in found]
    raise UsageError(
        f"this machine has no device '{name}'",
        where="--device",
        remedy=did_you_mean(name, known, "none is found; `tilewright targets` says why"),
    )


def find_processor(files: Sequence[Path]) -> Device:
    """The processor of this machine, also where no target here runs on it."""
    for one in _own_devices(files):
        if "cores" in one.device.attributes and not one.device.attributes.get("emulated"):
            return one.device
    return Device("processor", {"cores": os.cpu_count() or 1})


def _own_devices(files: Sequence[Path]) -> list[OwnDevice]:
    reply = probe({"do": "devices", "files": list(map(str, files))})
    raise_mistake(reply, "")
    return [OwnDevice(one["kind"], Device.from_json(one["device"])) for one in reply["devices"]]


def announcement(
    own: OwnDevice | None, cores: Sequence[int], *, accepts_plugins: bool
) -> dict[str, Any]:
    """The process, the plugins that it has, and its device, as JSON; without one, it builds."""
    announced = {
        "protocol": PROTOCOL,
        "machine": _machine(),
        "cores": list(cores),
        "pid": os.getpid(),
        "plugins": installed_plugins(),
        "accepts_plugins": accepts_plugins,
    }
    if own is not None:
        announced |= {"kind": own.kind, "device": own.device.to_json()}
    return announced


def _machine() -> str:
    """What processes have in common that share cores, in containers as well."""
    with suppress(OSError):
        return read_file(Path("/proc/sys/kernel/random/boot_id")).decode().strip()
    return platform.node()


def installed_plugins() -> dict[str, str]:
    """Version by distribution, of every one that brings plugins."""
    owners = map(owner_of, importlib.metadata.entry_points(group=PLUGIN_GROUP))
    return dict(sorted({one.distribution: one.version for one in owners}.items()))
