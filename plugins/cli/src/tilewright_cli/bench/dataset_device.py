"""What the trials of a data set were measured on, kept in a file beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.errors import UsageError
from tilewright.json_object import BadLineError, parse_object, sensible
from tilewright.reading import read_file
from tilewright.vocabulary.device import Device
from tilewright_pipeline.writing import write_whole

if TYPE_CHECKING:
    from tilewright_pipeline.context.run_context import RunContext

_FILE = "device.json"


def check_device(folder: Path, context: RunContext) -> None:
    """Raise UsageError where trials of the folder are of another device than the run's."""
    own = context.device.fingerprint
    kept = read_device(folder).fingerprint if (folder / _FILE).exists() else own
    records = (record.fingerprint for record in context.store.records())
    if strange := next((one for one in (kept, *records) if one != own), None):
        raise UsageError(
            f"it has trials of another device, of fingerprint {strange}; this one's is {own}",
            where=str(folder),
            remedy=f"`--like {folder}` measures the same in another folder",
        )


def write_device(folder: Path, device: Device) -> None:
    """Keep the device with the trials."""
    write_whole(folder / _FILE, json.dumps(device.to_json()) + "\n", "FOLDER")


def read_device(folder: Path) -> Device:
    """That of a data set. Raises UsageError for a file that `write_device` did not make."""
    file = folder / _FILE

    def made(data: dict[str, object]) -> Device:
        device = Device.from_json(data)
        _ = device.fingerprint  # not every attribute can have one
        return device

    try:
        found: Device = sensible(made, parse_object(read_file(file).strip()))
    except (BadLineError, OSError) as error:
        raise UsageError(
            f"no device of a data set: {error}", where=str(file), remedy="name another folder"
        ) from None
    return found
