"""Checks records files."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.json_object import BadLineError
from tilewright.reading import open_file
from tilewright_records.decoding import OtherVersionError
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


def _torn(path: Path) -> bool:
    with open_file(path) as file:
        file.seek(max(0, file.seek(0, 2) - 1))
        return file.read(1) not in (b"", b"\n")
