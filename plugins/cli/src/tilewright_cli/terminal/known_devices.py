"""Devices that can be named: of this machine, of a run, of a pack."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.errors import UsageError

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.device import Device
    from tilewright_records.packs.record_pack import RecordPack


def run_device(folder: Path) -> Device | None:
    """What the run in a folder was measured on; None where no run.json says."""
    from tilewright.reading import read_file
    from tilewright.vocabulary.device import Device

    with suppress(OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return Device.from_json(json.loads(read_file(folder / "run.json"))["device"])
    return None


def own_devices(host: PluginHost) -> Iterator[Device]:
    """Those of this machine, of every target that can tell."""
    for kind in host.components("target"):
        found, _ = host.tried("target", kind, "probe", partial(_probed, kind, host))
        yield from found or ()


def named_device(text: str, host: PluginHost) -> Device:
    """The device of a run, by its folder or a file in it; of this machine or a pack, by its name.

    Raises UsageError where none is known by that.
    """
    path = Path(text)
    if path.exists():
        device = run_device(path if path.is_dir() else path.parent)
        if device is None:
            message = "no run.json there tells what it was measured on"
            raise UsageError(message, where=text, remedy="name the folder of a run")
        return device
    if text in host.components("record_pack"):
        pack: RecordPack = host.make("record_pack", text, {}, host)
        described = (one.device for one in pack.manifest.devices)
        packed = next((one for one in described if one is not None), None)
        if packed is None:
            raise UsageError("the pack does not describe its device", where=text)
        return packed
    found: dict[str, Device] = {}
    for own in own_devices(host):
        found.setdefault(own.name, own)
    if text not in found:
        known = ", ".join([*found, *host.components("record_pack")])
        remedy = f"known: {known}; or name the folder of a run"
        raise UsageError("no device, pack or run is called that", where=text, remedy=remedy)
    return found[text]


def _probed(kind: str, host: PluginHost) -> Sequence[Device]:
    return host.backend(kind).probe()
