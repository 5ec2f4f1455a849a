"""Checks records files and merges them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tilewright.canonical import canonical_json
from tilewright.json_object import BadLineError
from tilewright.reading import open_file
from tilewright.roles import RecordStore
from tilewright.vocabulary.record import AnyRecord
from tilewright_records.decoding import OtherVersionError
from tilewright_records.encoding import record_json
from tilewright_records.readers import JsonlReader, find_reader, read_log

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost


@dataclass(frozen=True, slots=True)
class LogReport:
    """What a records file holds.

    kinds           number of records by kind
    bad             (line number from 1, what is wrong with it)
    other_versions  lines of a later format, which are left alone
    torn            whether the last line of a file of ours lost its end; the next writer closes it
    """

    kinds: Counter[str]
    bad: tuple[tuple[int, str], ...]
    other_versions: int
    torn: bool


def verify_log(path: Path, host: PluginHost | None = None) -> LogReport:
    """What every line of a records file is worth.

    Read by the installed reader that recognises it (see `read_log`). Raises UsageError where
    there is no such file.
    """
    kinds: Counter[str] = Counter()
    bad: list[tuple[int, str]] = []
    other_versions = 0
    for number, found in read_log(path, host):
        if isinstance(found, OtherVersionError):
            other_versions += 1
        elif isinstance(found, BadLineError):
            bad.append((number, str(found)))
        else:
            kinds[found.kind] += 1
    torn = isinstance(find_reader(path, host), JsonlReader) and _torn(path)
    return LogReport(kinds, tuple(bad), other_versions, torn)


class Merged(NamedTuple):
    """How many records were added, and how many lines of other files are none that is known."""

    added: int
    left_behind: int


def merge_logs(
    sources: Sequence[Path], into: RecordStore, host: PluginHost | None = None
) -> Merged:
    """Append the records of other files that the store does not hold yet.

    Files are read by the installed readers that recognise them. Records are equal apart from their
    sequence numbers, which are assigned again.
    """
    left_behind = 0

    def records() -> Iterator[AnyRecord]:
        nonlocal left_behind
        for source in sources:
            for _, found in read_log(source, host):
                if isinstance(found, BadLineError):
                    left_behind += 1
                else:
                    yield found

    return Merged(append_missing(records(), into), left_behind)


def append_missing(records: Iterable[AnyRecord], into: RecordStore) -> int:
    """Append those that a store's file does not hold yet: how many these are."""
    present = JsonlReader().read(into.path) if into.path.exists() else ()
    known = {_content(found) for _, found in present if not isinstance(found, BadLineError)}
    added: dict[str, AnyRecord] = {}
    for record in records:
        if (content := _content(record)) not in known:
            added.setdefault(content, record)
    if added:
        into.append(added.values())
    return len(added)


def _content(record: AnyRecord) -> str:
    return canonical_json({**record_json(record), "sequence": 0})


def _torn(path: Path) -> bool:
    with open_file(path) as file:
        file.seek(max(0, file.seek(0, 2) - 1))
        return file.read(1) not in (b"", b"\n")
