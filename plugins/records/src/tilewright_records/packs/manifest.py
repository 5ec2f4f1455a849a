"""What a pack says of itself: `manifest.json` beside its records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from tilewright.errors import UsageError
from tilewright.json_object import MAX_LINE_BYTES, BadLineError, parse_object, sensible
from tilewright.options import Options, check_options
from tilewright.reading import open_file
from tilewright.vocabulary.device import Device

VERSION = 1
MANIFEST = "manifest.json"
_SHA256 = "^[0-9a-f]{64}$"
_REMEDY = "install a pack that this release reads, or make it anew: tilewright records pack"


class PackedDevice(Options):
    """A machine of which a pack has records.

    records     trials that it made
    attributes  what its fingerprint is made of; None where who packed did not know: then nobody
                can say what it is like, and its records are of use on equal machines only
    """

    name: str
    fingerprint: str
    records: int = Field(ge=0)
    attributes: Mapping[str, Any] | None = None

    @property
    def device(self) -> Device | None:
        """The machine, where it is described."""
        return None if self.attributes is None else Device(self.name, self.attributes)


class PackManifest(Options):
    """Licence, machines, versions, size and hash of a pack.

    sha256    of the file of records, as it lies there
    model     the same of its cost model's file, where it has one
    versions  of the distributions that made it, by name
    """

    version: int
    name: str = Field(min_length=1)
    licence: str = Field(min_length=1)
    records: int = Field(ge=0)
    tasks: int = Field(ge=0)
    sha256: str = Field(pattern=_SHA256)
    model: str | None = Field(None, pattern=_SHA256)
    devices: tuple[PackedDevice, ...]
    versions: Mapping[str, str]


def read_manifest(folder: Path) -> PackManifest:
    """The manifest in a pack's folder.

    Raises UsageError for one of another version, and for what makes no sense: a machine whose
    attributes have another fingerprint, too.
    """
    path = folder / MANIFEST
    try:
        with open_file(path) as file:
            data = parse_object(file.read(MAX_LINE_BYTES).strip())
        if data.get("version") != VERSION:
            raise UsageError(
                f"a pack of version {data.get('version')!r}"[:80] + f", expected {VERSION}",
                where=str(path),
                remedy=_REMEDY,
            )
        manifest = check_options(PackManifest, data, where=str(path))
        for packed in manifest.devices:
            sensible(_check_fingerprint, packed)
    except OSError as error:
        raise UsageError(
            f"no pack: {error.strerror or error}", where=str(path), remedy=_REMEDY
        ) from None
    except BadLineError as error:
        raise UsageError(f"the manifest is damaged: {error}", where=str(path)) from None
    return manifest


def _check_fingerprint(packed: PackedDevice) -> None:
    device = packed.device
    if device is not None and device.fingerprint != packed.fingerprint:
        raise BadLineError(f"'{packed.name}' is described as another device than its fingerprint's")
