"""A pack that is installed: records of others, checked against their hash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path

from tilewright.errors import UsageError
from tilewright.plugins.plugin import Component
from tilewright.reading import open_file
from tilewright_records.line import whole_lines
from tilewright_records.packs.manifest import PackManifest, read_manifest
from tilewright_records.recording import content_of

RECORDS = "records.jsonl.gz"
_REMEDY = "install it again"


@dataclass(frozen=True, slots=True)
class RecordPack:
    """Records in a folder that is only read; its manifest was read, its records were not yet."""

    name: str
    folder: Path
    manifest: PackManifest

    @classmethod
    def open(cls, name: str, folder: Path) -> RecordPack:
        """The pack in a folder. Raises UsageError as `read_manifest` does."""
        return cls(name, folder, read_manifest(folder))

    def lines(self) -> list[bytes]:
        """The lines of its records, which may still be nonsense each.

        Raises UsageError where the file is not what the manifest was made for, or is larger than
        `MAX_BYTES` when unpacked.
        """
        path = self.folder / RECORDS
        try:
            with open_file(path) as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise UsageError(
                f"cannot read the records: {error.strerror or error}",
                where=str(path),
                remedy=_REMEDY,
            ) from None
        if found != self.manifest.sha256:
            raise UsageError(
                f"the records are not those of the manifest: SHA-256 {found}, expected "
                f"{self.manifest.sha256}",
                where=str(path),
                remedy=_REMEDY,
            )
        return list(whole_lines(BytesIO(content_of(path))))


def offered(name: str, summary: str, folder: Path) -> Component[RecordPack]:
    """What the hook of a pack gives: the pack in this folder, opened when a run asks for it."""
    return Component(
        name,
        summary,
        lambda: lambda _options, _host: RecordPack.open(name, folder),
        lacks=partial(_fault, name, folder),
    )


def _fault(name: str, folder: Path) -> str:
    """Why the pack is passed over; empty where it is not."""
    try:
        RecordPack.open(name, folder).lines()
    except UsageError as error:
        return f"{error.where}: {error.message}"
    return ""
