"""Keeps stdout for one JSON object, whatever plugins and their libraries print."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO


@contextmanager
def answer_alone() -> Iterator[TextIO]:
    """Where the answer goes: stdout as it was; until the end all else that goes there is on stderr.

    Also what native code and child processes print, where stdout is the process's own.
    """
    answer = sys.stdout
    with redirect_stdout(sys.stderr):
        if not _is_own(answer):  # a test's or an embedder's
            yield answer
            return
        answer.flush()
        kept = os.dup(1)
        os.dup2(2, 1)
        try:
            with os.fdopen(os.dup(kept), "w", encoding=answer.encoding) as file:
                yield file
        finally:
            import ctypes

            ctypes.CDLL(None).fflush(None)  # what C printed is in its buffer, and for stderr
            os.dup2(kept, 1)
            os.close(kept)


def _is_own(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.fileno() == 1
    except OSError:  # it is no file
        return False
