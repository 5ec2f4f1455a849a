"""Reading a file of records, in whatever format a plugin knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from tilewright.errors import UsageError
from tilewright.json_object import (
    MAX_LINE_BYTES,
    BadLineError,
    UnknownLineError,
    parse_object,
    sensible,
)
from tilewright.reading import open_file
from tilewright.vocabulary.record import AnyRecord
from tilewright_records.decoding import RecordDecoder
from tilewright_records.encoding import record_json
from tilewright_records.line import seal, unseal, whole_lines

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import RecordReader

_LINES_LOOKED_AT = 16
_MOST_COMMENTS = 1000
"""Lines above the first record; a licence has some twenty."""


class JsonlReader:
    """The format of `JsonlRecordStore`; a last line that lost its end is none yet.

    others   readers by name, to say of a line that it is of theirs
    """

    def __init__(self, others: Mapping[str, RecordReader] = MappingProxyType({})) -> None:
        self._others = others

    def recognises(self, first_line: str) -> bool:
        return first_line.startswith('{"version":')

    def read(self, path: Path) -> Iterator[tuple[int, AnyRecord | BadLineError]]:
        decoder = RecordDecoder()
        try:
            with open_file(path) as file:
                for number, line in enumerate(whole_lines(file), 1):
                    if line:
                        yield number, self._decoded(decoder, line)
        except OSError as error:
            raise _unreadable(path, error) from error

    def _decoded(self, decoder: RecordDecoder, line: bytes) -> AnyRecord | BadLineError:
        try:
            return decoder.decode(unseal(line))
        except UnknownLineError as error:
            return error
        except BadLineError as error:
            name = _format_of(line.decode("utf-8", "replace"), self._others)
            if name is None:
                return error
            remedy = "keep it in a file of its own, for `tilewright records import`"
            return BadLineError(f"a line of {name}, not of ours: {remedy}")


def read_log(
    path: Path, host: PluginHost | None = None
) -> Iterator[tuple[int, AnyRecord | BadLineError]]:
    """Every line of a log, by the installed reader that recognises it (see `find_reader`).

    Records of another format count where our own format can hold them; any line is either read or
    bad. Raises UsageError where the file cannot be read.
    """
    reader = find_reader(path, host)
    if isinstance(reader, JsonlReader):
        yield from reader.read(path)
        return
    decoder = RecordDecoder()
    for number, found in reader.read(path):
        yield number, found if isinstance(found, BadLineError) else _kept(decoder, found)


def expect_log(path: Path, host: PluginHost) -> None:
    """Raise UsageError where nothing in a file is a record: neither JSON, nor read by a plugin."""
    empty = True
    try:
        with open_file(path) as file:
            for line in iter(lambda: file.readline(MAX_LINE_BYTES), b""):
                if _is_object(line):
                    return
                empty = empty and not line.strip()
    except OSError as error:
        raise _unreadable(path, error) from error
    if empty:
        return
    if all(isinstance(found, BadLineError) for _, found in read_log(path, host)):
        raise UsageError("no line of it is a record", where=str(path), remedy="name a records file")


def find_reader(path: Path, host: PluginHost | None) -> RecordReader:
    """The installed reader that recognises a file; without a host, or where none does, our own.

    So a file whose first line is damaged is still read. Raises UsageError where it cannot be.
    """
    if host is None:
        return JsonlReader()
    readers = _readers(host)
    name = recognised_format(path, host)
    reader = JsonlReader() if name is None else readers[name]
    if not isinstance(reader, JsonlReader):
        return reader
    return JsonlReader({n: r for n, r in readers.items() if not isinstance(r, JsonlReader)})


def recognised_format(path: Path, host: PluginHost) -> str | None:
    """The name of the installed reader that recognises a file. Raises UsageError as it does.

    Its first line may be damaged: that of the first lines decides which is of our own format, else
    the first that is of any; comments are passed over.
    """
    readers = _readers(host)
    found: str | None = None
    for line in _first_lines(path):
        name = _format_of(line, readers)
        if name is not None and isinstance(readers[name], JsonlReader):
            return name
        found = found or name
    return found


def _readers(host: PluginHost) -> dict[str, RecordReader]:
    names = host.components("record_reader")
    return {name: host.make("record_reader", name, {}, host) for name in names}


def _first_lines(path: Path) -> Iterator[str]:
    try:
        with open_file(path) as file:
            left = _LINES_LOOKED_AT
            for line in islice(iter(lambda: file.readline(MAX_LINE_BYTES), b""), _MOST_COMMENTS):
                if line.strip() and not line.startswith(b"#"):
                    yield line.decode("utf-8", "replace")
                    left -= 1
                if not left:
                    return
    except OSError as error:
        raise _unreadable(path, error) from error


def _format_of(line: str, readers: Mapping[str, RecordReader]) -> str | None:
    return next((name for name, reader in readers.items() if reader.recognises(line)), None)


def _kept(decoder: RecordDecoder, record: AnyRecord) -> AnyRecord | BadLineError:
    """What our own format gives back of a record."""
    try:
        line = sensible(lambda found: seal(record_json(found)), record)
        return decoder.decode(unseal(line[:-1]))
    except BadLineError as error:
        return error


def _is_object(line: bytes) -> bool:
    try:
        parse_object(line.strip())
    except BadLineError:
        return False
    return True


def _unreadable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"cannot read the records file: {error.strerror}", where=str(path))
