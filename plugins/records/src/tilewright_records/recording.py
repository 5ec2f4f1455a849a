"""The trials of a records file as they stand there, also where the file is compressed."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedIOBase
from pathlib import Path

from tilewright.errors import UsageError
from tilewright.json_object import BadLineError
from tilewright.reading import open_file
from tilewright.vocabulary.record import Record
from tilewright_records.decoding import RecordDecoder
from tilewright_records.line import unseal, whole_lines

MAX_BYTES = 2**28
"""Of a file, unpacked: half a million records."""


def trials_in(path: Path) -> Iterator[Record]:
    """The trials of a records file in its order; bad lines are skipped, as a store does.

    The file may be compressed (`.gz`). Raises UsageError where it cannot be read or is too large.
    """
    decoder, left = RecordDecoder(), MAX_BYTES
    with _opened(path) as file:
        for line in whole_lines(file):
            left -= len(line) + 1
            if left < 0:
                raise _too_large(path)
            with suppress(BadLineError):
                record = decoder.decode(unseal(line))
                if isinstance(record, Record):
                    yield record


def content_of(path: Path) -> bytes:
    """The content of a file, which may be compressed (`.gz`).

    Raises UsageError where it cannot be read or is too large.
    """
    with _opened(path) as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise _too_large(path)
    return content


@contextmanager
def _opened(path: Path) -> Iterator[BufferedIOBase]:
    """The file, unpacked; errors of the file system inside become a UsageError."""
    try:
        with open_file(path) as packed:
            yield gzip.GzipFile(fileobj=packed) if path.suffix == ".gz" else packed
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"cannot read the file: {error}", where=str(path)) from error


def _too_large(path: Path) -> UsageError:
    return UsageError(
        f"more than {MAX_BYTES} bytes when unpacked", where=str(path), remedy="take a part of it"
    )
