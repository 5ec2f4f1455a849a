"""A pack that is installed: records of others, and their cost model, checked against hashes."""

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
MODEL = "model.json.gz"
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
        _check(path, self.manifest.sha256, "the records are not those")
        return list(whole_lines(BytesIO(content_of(path))))

    def model(self) -> Path | None:
        """The file of its cost model, which may still be nonsense; None where it has none.

        Raises UsageError where the file is not what the manifest was made for.
        """
        if self.manifest.model is None:
            return None
        path = self.folder / MODEL
        _check(path, self.manifest.model, "the cost model is not that")
        return path


def _check(path: Path, sha256: str, wrong: str) -> None:
    """Raises UsageError where a file has another hash than the manifest says."""
    try:
        with open_file(path) as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(
            f"cannot read it: {error.strerror or error}", where=str(path), remedy=_REMEDY
        ) from None
    if found != sha256:
        raise UsageError(
            f"{wrong} of the manifest: SHA-256 {found}, expected {sha256}",
            where=str(path),
            remedy=_REMEDY,
        )


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
        pack = RecordPack.open(name, folder)
        pack.lines()
        pack.model()
    except UsageError as error:
        return f"{error.where}: {error.message}"
    return ""
