"""Where a scheduler or a worker listens: an address that it cannot have is a user's mistake."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from tilewright.errors import UsageError

_NOT_TO_BE_HAD = (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES, errno.EPERM)


@contextmanager
def listening(at: str, *, option: str, remedy: str) -> Iterator[None]:
    """Start a server of Dask's inside. Raises UsageError where it cannot listen there."""
    try:
        yield
    except RuntimeError as error:  # Dask's, of what happened
        why = error.__cause__
        unknown = isinstance(why, socket.gaierror)
        if not isinstance(why, OSError) or not (unknown or why.errno in _NOT_TO_BE_HAD):
            raise
        text = f"cannot listen on {at}: {why.strerror}"
        raise UsageError(text, where=option, remedy=remedy) from error
