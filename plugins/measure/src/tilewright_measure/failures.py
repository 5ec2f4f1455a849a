"""Exceptions of candidates as failures."""

from __future__ import annotations

import errno
import traceback

from tilewright.errors import UsageError
from tilewright.measure import DeviceFaultError, Failure, FailureKind

_TEXT_CHARACTERS = 4096


class RefusedError(Exception):
    """A candidate ran and what came of it does not count: `wrong_answer` or `invalid_result`."""

    def __init__(self, kind: FailureKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def failure_of(error: Exception, otherwise: FailureKind) -> Failure:
    """The failure an exception is: of its own kind, out of memory, or `otherwise` and its place."""
    if isinstance(error, RefusedError | DeviceFaultError):
        return Failure(error.kind, str(error)[:_TEXT_CHARACTERS])
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return Failure(FailureKind.OUT_OF_MEMORY, str(error)[:_TEXT_CHARACTERS])
    if isinstance(error, UsageError) or otherwise is FailureKind.INVALID_CONFIG:
        return Failure(otherwise, str(error)[:_TEXT_CHARACTERS])
    where = "".join(traceback.format_tb(error.__traceback__)[-3:])
    return Failure(otherwise, f"{type(error).__name__}: {error}\n{where}"[:_TEXT_CHARACTERS])
