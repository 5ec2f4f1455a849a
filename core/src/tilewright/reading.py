"""Opens files that another user may have put in place."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


def open_file(path: Path) -> BufferedReader:
    """The file, open for reading, if it is one.

    A pipe would be waited for, a device may have no end, a folder has no content: they are refused
    as OSError, like a file that is not there.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError:
        raise OSError(errno.EINVAL, "a NUL is in it", str(path)) from None
    if not stat.S_ISREG(mode := os.fstat(descriptor).st_mode):
        os.close(descriptor)
        what = "it is a folder" if stat.S_ISDIR(mode) else "it is a pipe or a device"
        raise OSError(errno.EINVAL, what, str(path))
    return os.fdopen(descriptor, "rb")


def read_file(path: Path) -> bytes:
    """The content of a file. Raises OSError as `open_file` does."""
    with open_file(path) as file:
        return file.read()
