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

    Does nothing outside the main thread, where no signal arrives. Where SIGINT is ignored, it stays
    so, and SIGTERM takes its place if somebody handles it.
    """

    def __init__(self) -> None:
        self._count = 0
        self._shielded = 0
        self._pending = False
        self._number = signal.SIGINT
        self._previous: Any = None

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is not threading.main_thread():
            return self
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            # As in a shell's background jobs: the Ctrl-C of that terminal is meant for others.
            if not callable(signal.getsignal(signal.SIGTERM)):
                return self
            self._number = signal.SIGTERM
        self._previous = signal.signal(self._number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous is not None and signal.getsignal(self._number) == self._handle:
            signal.signal(self._number, self._previous)

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

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGTERM:
            signal.signal(number, lambda *_: None)  # `timeout` sends it twice, and means it once
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
