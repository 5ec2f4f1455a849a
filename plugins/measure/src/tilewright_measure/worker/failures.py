"""Exceptions of candidates as failures."""

from __future__ import annotations

import errno
import resource
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tilewright.errors import UsageError
from tilewright.vocabulary.measure import DeviceFaultError, Failure, FailureKind


class RefusedError(Exception):
    """What came of a candidate does not count, for a reason of this kind."""

    def __init__(self, kind: FailureKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@contextmanager
def room_for_operands() -> Iterator[None]:
    """Where inputs and answers are made and placed, which any candidate of the task needs.

    Raises RefusedError (`internal`) where the worker's limit is too low for them. Without such a
    limit it may be a device whose memory is full, and errors stay what they are.
    """
    try:
        yield
    except (MemoryError, OSError) as error:
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY or not _out_of_memory(error):
            raise
        gib = limit / (1 << 30)
        raise RefusedError(
            FailureKind.INTERNAL,
            f"the task's inputs and expected outputs do not fit into memory_gib={gib:g}; give the "
            f"runner more: {{local: {{memory_gib: {2 * gib:g}}}}}, or 0 for no limit",
        ) from error


def failure_of(error: Exception, otherwise: FailureKind) -> Failure:
    """The failure an exception is: of its own kind, out of memory, or `otherwise` and its place."""
    kind, text = otherwise, str(error)
    if isinstance(error, RefusedError | DeviceFaultError):
        kind = error.kind
    elif _out_of_memory(error) and otherwise is not FailureKind.INTERNAL:
        kind = FailureKind.OUT_OF_MEMORY
    elif otherwise is FailureKind.INVALID_CONFIG and not isinstance(error, UsageError):
        # or a strategy's mistake: a place tells it
        place = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{text} ({Path(place.filename).name}:{place.lineno})"
    elif not isinstance(error, UsageError):
        where = "".join(traceback.format_tb(error.__traceback__)[-3:])
        text = f"{type(error).__name__}: {text}\n{where}"
    return Failure(kind, text)


def _out_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM
