"""The role of record readers: records files of every format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tilewright.json_object import BadLineError
    from tilewright.vocabulary.record import AnyRecord


class RecordReader(Protocol):
    """Reads one format of records files."""

    def recognises(self, first_line: str) -> bool:
        """Whether a file with this line among its first is of its format."""

    def read(self, path: Path) -> Iterator[tuple[int, AnyRecord | BadLineError]]:
        """Lazily, by line number from 1: a line's record, or its fault. Raises UsageError."""
