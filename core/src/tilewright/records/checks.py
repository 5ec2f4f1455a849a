"""Looking after records files: what is wrong with one, and many made into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.canonical import canonical_json
from tilewright.records.line import BadLineError
from tilewright.records.readers import find_reader
from tilewright.records.record import AnyRecord, OtherVersionError
from tilewright.records.store import JsonlRecordStore

if TYPE_CHECKING:
    from tilewright.host import PluginHost


@dataclass(frozen=True, slots=True)
class LogReport:
    """What a records file holds.

    kinds           number of records by kind
    bad             (line number from 1, what is wrong with it)
    other_versions  lines of a later format, which are left alone
    torn            whether the last line lost its end; the next writer closes it
    """

    kinds: Counter[str]
    bad: tuple[tuple[int, str], ...]
    other_versions: int
    torn: bool


def verify_log(path: Path, host: PluginHost | None = None) -> LogReport:
    """What every line of a records file is worth.

    Read by the installed reader that recognises it (see `find_reader`). Raises UsageError where
    there is no such file.
    """
    kinds: Counter[str] = Counter()
    bad: list[tuple[int, str]] = []
    other_versions = 0
    for number, found in find_reader(path, host).read(path):
        if isinstance(found, OtherVersionError):
            other_versions += 1
        elif isinstance(found, BadLineError):
            bad.append((number, str(found)))
        else:
            kinds[found.kind] += 1
    return LogReport(kinds, tuple(bad), other_versions, _torn(path))


def merge_logs(
    sources: Sequence[Path], into: JsonlRecordStore, host: PluginHost | None = None
) -> int:
    """Append the records of other files that the store does not hold yet; returns how many.

    Files are read by the installed readers that recognise them. Records are equal apart from their
    sequence numbers, which are given anew. Bad lines stay behind.
    """
    known = {_content(record) for record in _read(into.path, None)} if into.path.exists() else set()
    added: dict[str, AnyRecord] = {}
    for source in sources:
        for record in _read(source, host):
            content = _content(record)
            if content not in known:
                added.setdefault(content, record)
    if added:
        into.append(added.values())
    return len(added)


def _content(record: AnyRecord) -> str:
    return canonical_json({**record.to_json(), "sequence": 0})


def _read(path: Path, host: PluginHost | None) -> Iterator[AnyRecord]:
    for _, found in find_reader(path, host).read(path):
        if not isinstance(found, BadLineError):
            yield found


def _torn(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - 1))
        return file.read(1) not in (b"", b"\n")
