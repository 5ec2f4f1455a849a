"""Writes a pack: the folder of a pip package that holds records and says what they are."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TypeAlias

from tilewright.canonical import thaw
from tilewright.errors import UsageError
from tilewright.json_object import BadLineError, parse_object
from tilewright.reading import read_file
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.record import AnyRecord, BudgetRecord, GraphRecord, Record
from tilewright_records.encoding import record_json
from tilewright_records.line import seal
from tilewright_records.packs.manifest import MANIFEST, VERSION, PackedDevice, PackManifest
from tilewright_records.packs.record_pack import MODEL, RECORDS

_Packed: TypeAlias = Record | GraphRecord

_NEEDS, _MODEL_NEEDS = '"tilewright-records"', '"tilewright-models"'
_MEMBERS = {"format", "features", "columns", "machines", "told", "examples", "members"}
_MOST_BYTES = 32 << 20
"""Of a cost model, unpacked: more is not read where it is installed."""
_MODEL = "name a .json.gz that benchmarks/models/train.py --save wrote"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+() -]*")

_PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{distribution}"
version = "{version}"
description = "{summary}"
license = "{licence}"
requires-python = ">=3.11"
dependencies = [{needs}]

[project.entry-points.tilewright]
{distribution} = "{package}.plugin"

[tool.hatch.build.targets.wheel]
packages = ["src/{package}"]
"""

_PLUGIN = '''\
"""Offers the records in this folder."""

from pathlib import Path

from tilewright import hookimpl


@hookimpl
def tilewright_record_packs():
    from tilewright_records.packs.record_pack import offered

    return [offered("{name}", "{summary}", Path(__file__).parent)]
'''


@dataclass(frozen=True, slots=True)
class PackText:
    """What who makes a pack says of it.

    name     of the pack; its distribution is `tilewright-records-NAME`
    licence  of the records, as SPDX writes it
    version  of the distribution
    versions of what made the records, by distribution
    """

    name: str
    licence: str
    version: str
    versions: Mapping[str, str]

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"{self.name!r} is no name for a pack",
                remedy="take small letters, digits and single hyphens, such as zen5-resnets",
            )
        if not _LICENCE.fullmatch(self.licence):
            raise UsageError(
                f"{self.licence!r} is no licence",
                remedy="as SPDX writes it, such as CC0-1.0 or Apache-2.0",
            )
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)*", self.version):
            raise UsageError(f"{self.version!r} is no version", remedy="such as 1.0")


def package_files(
    records: Iterable[AnyRecord],
    devices: Iterable[Device],
    text: PackText,
    model: bytes | None = None,
) -> dict[str, bytes]:
    """The package's files by their path in its folder; equal records make equal bytes.

    Trials and graph choices are packed. What stages spent is left out, since it would count against
    the budgets of others; so are the part of a device's name that tells one machine of several, and
    the texts of failures, which may have paths in them.

    devices   described in the manifest where they made any of the records
    model     a cost model's file to go with them
    """
    kept = [_shared(record, n) for n, record in enumerate(_packable(records))]
    if not kept:
        raise UsageError("no record to pack", remedy="name a file that has trials")
    data = gzip.compress(b"".join(seal(record_json(record)) for record in kept), mtime=0)
    manifest = PackManifest(
        version=VERSION,
        name=text.name,
        licence=text.licence,
        records=len(kept),
        tasks=len({record.task.key for record in kept}),
        sha256=hashlib.sha256(data).hexdigest(),
        model=None if model is None else hashlib.sha256(model).hexdigest(),
        devices=_devices(kept, devices),
        versions=text.versions,
    )
    words = {
        "name": text.name,
        "distribution": f"tilewright-records-{text.name}",
        "package": f"tilewright_records_{text.name.replace('-', '_')}",
        "version": text.version,
        "licence": text.licence,
        "needs": _NEEDS if model is None else f"{_NEEDS}, {_MODEL_NEEDS}",
        "summary": f"{manifest.records} records of {manifest.tasks} tasks for Tilewright",
    }
    inside = f"src/{words['package']}"
    said = json.dumps(thaw(manifest.model_dump(exclude_none=True)), indent=1) + "\n"
    return {
        "pyproject.toml": _PYPROJECT.format(**words).encode(),
        f"{inside}/__init__.py": b'"""Records for Tilewright."""\n',
        f"{inside}/plugin.py": _PLUGIN.format(**words).encode(),
        f"{inside}/{MANIFEST}": said.encode(),
        f"{inside}/{RECORDS}": data,
        **({} if model is None else {f"{inside}/{MODEL}": model}),
    }


def packable_model(path: Path) -> bytes:
    """The file of a cost model, which only tilewright-models can read as a whole.

    Raises UsageError for what cannot be one.
    """
    try:
        packed = read_file(path)
        plain = gzip.GzipFile(fileobj=BytesIO(packed)).read(_MOST_BYTES + 1)
        missing = _MEMBERS - parse_object(plain).keys()
    except (OSError, EOFError, zlib.error, BadLineError) as error:
        raise UsageError(f"no cost model: {error}", where=str(path), remedy=_MODEL) from None
    if missing:
        wrong = f"no cost model: no member '{min(missing)}'"
        raise UsageError(wrong, where=str(path), remedy=_MODEL)
    return packed


def _packable(records: Iterable[AnyRecord]) -> Iterator[_Packed]:
    return (record for record in records if not isinstance(record, BudgetRecord))


def _shared(record: _Packed, sequence: int) -> _Packed:
    device = record.device.partition("@")[0]
    if isinstance(record, Record):
        trial, failure = record.trial, record.trial.result.failure
        if failure is not None:
            result = replace(trial.result, failure=replace(failure, text=""))
            trial = replace(trial, result=result)
        return replace(record, trial=trial, sequence=sequence, device=device, charge=None)
    return replace(record, sequence=sequence, device=device)


def _devices(records: Iterable[_Packed], devices: Iterable[Device]) -> tuple[PackedDevice, ...]:
    known = {device.fingerprint: device for device in devices}
    counted = Counter((record.device, record.fingerprint) for record in records)
    return tuple(
        PackedDevice(
            name=name,
            fingerprint=fingerprint,
            records=count,
            attributes=thaw(known[fingerprint].attributes) if fingerprint in known else None,
        )
        for (name, fingerprint), count in counted.items()
    )
