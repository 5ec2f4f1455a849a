"""The line of each read in a definition's file, for later error messages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

_Read = TypeVar("_Read")


class NotedReads:
    """The lines of a file that made each read; reads are compared by identity."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._kept: list[Any] = []  # so that no other read gets the same id
        self._lines: dict[int, int] = {}

    def note(self, read: Any) -> None:
        """Remember the innermost line of the file that runs now; none where it does not."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self._file:
            frame = frame.f_back
        if frame is not None:
            self._kept.append(read)
            self._lines[id(read)] = frame.f_lineno

    def place(self, read: Any) -> str:
        """`file.py:8: `, empty for a read that was made elsewhere."""
        line = self._lines.get(id(read))
        return "" if line is None else f"{Path(self._file).name}:{line}: "


_NOTED: ContextVar[NotedReads | None] = ContextVar("tilewright_noted_reads", default=None)


@contextmanager
def noting_reads(file: str) -> Iterator[NotedReads]:
    """Inside, every read of a tensor is noted with its line in the file."""
    noted = NotedReads(file)
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)


def noted(read: _Read) -> _Read:
    """The read itself."""
    if (reads := _NOTED.get()) is not None:
        reads.note(read)
    return read
