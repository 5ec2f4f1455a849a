"""The device that a name means; whoever only runs what was compiled needs no more of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.errors import UsageError, did_you_mean
from tilewright.roles import TellsItsParts
from tilewright.vocabulary.device import Device

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.target import Target


def find_device(host: PluginHost, target: Target, name: str | None) -> Device:
    """The device of that name, or the target's first. Raises UsageError where there is none.

    An emulated device (an attribute) is used only where it is named: its times are not real.
    """
    backend = host.backend(target.kind)
    devices = backend.probe()
    for device in devices:
        if device.name == name or (name is None and not device.emulated):
            return device
    missing = backend.missing_parts() if isinstance(backend, TellsItsParts) else {}
    known = [device.name for device in devices]
    if name is None or not known:
        others = f"; there is --device {', '.join(known)}" if known else ""
        reasons = "; ".join(f"{what}: {why}" for what, why in missing.items())
        raise UsageError(
            f"this machine has no device for the target {target}",
            remedy=f"{reasons or '`tilewright targets` lists what there is'}{others}",
        )
    raise UsageError(
        f"no device '{name}' for {target}",
        where="device",
        remedy=missing.get(name) or did_you_mean(name, known),
    )
