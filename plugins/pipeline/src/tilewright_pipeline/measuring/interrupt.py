"""Ctrl-C: the first ends the run in good order, the second at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from tilewright_pipeline.context import exit_codes

_SHOW_CURSOR = b"\x1b[?25h\n"


def is_ctrl_c(error: BaseException | None) -> bool:
    """Whether it is a KeyboardInterrupt, or what the import of native code makes of one."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None


class Interrupt:
    """While entered, SIGINT raises KeyboardInterrupt, never inside `shield`; a second one exits.

    Does nothing outside the main thread, where no signal arrives.
    """

    def __init__(self) -> None:
        self._count = 0
        self._shielded = 0
        self._pending = False
        self._previous: Any = None

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    @contextmanager
    def shield(self) -> Iterator[None]:
        """A section that the first Ctrl-C does not cut: it is raised when the section ends."""
        self._shielded += 1
        try:
            yield
        finally:
            self._shielded -= 1
        if self._pending and not self._shielded:
            self._pending = False
            raise KeyboardInterrupt

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1
        if self._count > 1:
            # No unwinding: workers end with their parent, the log is whole up to its last line.
            if sys.stderr.isatty():
                os.write(sys.stderr.fileno(), _SHOW_CURSOR)
            os._exit(exit_codes.INTERRUPTED)
        if self._shielded:
            self._pending = True
            return
        raise KeyboardInterrupt
