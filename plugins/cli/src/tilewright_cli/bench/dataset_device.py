"""What the trials of a data set were measured on, kept in a file beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.errors import UsageError
from tilewright.reading import read_file
from tilewright.vocabulary.device import Device
from tilewright_pipeline.writing import writing

if TYPE_CHECKING:
    from tilewright_pipeline.context.run_context import RunContext


def keep_device(folder: Path, context: RunContext) -> None:
    """Write down the run's device. Raises UsageError where the folder is of another."""
    file = folder / "device.json"
    if not file.exists():
        with writing(file, "FOLDER"):
            file.write_text(json.dumps(context.device.to_json()) + "\n", encoding="utf-8")
    elif (kept := read_device(folder)).fingerprint != context.device.fingerprint:
        raise UsageError(
            f"its trials are of another device, {kept.attributes.get('model', kept.name)} "
            f"({kept.fingerprint}), this is {context.device.fingerprint}",
            where=str(folder),
            remedy="copy its tasks.json to another folder: the same workloads, measured here",
        )


def read_device(folder: Path) -> Device:
    """That of a data set. Raises UsageError for a file that `keep_device` did not make."""
    file = folder / "device.json"
    try:
        return Device.from_json(json.loads(read_file(file)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"no device of a data set: {error}", where=str(file), remedy="name another folder"
        ) from None
