"""Whether a run can write where it should, and the message where it cannot."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tilewright.errors import UsageError


@contextmanager
def writing(path: Path, what: str) -> Iterator[None]:
    """Errors of the file system raised inside become a UsageError that names the path."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(
            f"{what}: {reason}", where=_shown(path), remedy="choose another path"
        ) from error


def check_folder(path: Path, what: str) -> None:
    """Raise UsageError unless the folder, and a file in it, could be made; leaves nothing there."""
    with writing(path, what):
        _try(path)


def check_file(path: Path, what: str) -> None:
    """Raise UsageError unless the file could be written, its folders made; leaves all as it is."""
    with writing(path, what):
        if exists(path):
            path.open("r+b").close()
        else:
            _try(path.parent)


def _try(folder: Path) -> None:
    """Make a folder in the nearest one that is there, and remove it.

    It has to be tried: permissions allow the superuser more than some file systems do.
    """
    while not exists(folder):
        folder = folder.parent
    with TemporaryDirectory(dir=folder):
        pass


def exists(path: Path) -> bool:
    """As `Path.exists`, but a loop of links or a file amid the path is an error."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    except ValueError:
        raise OSError(errno.EINVAL, "a NUL is in it") from None
    return True


def is_file(path: Path) -> bool:
    """Whether a file is there; anything else in its place is an error."""
    if exists(path) and not path.is_file():  # a pipe would be waited for, a device has no end
        raise OSError(errno.EINVAL, "it is a folder" if path.is_dir() else "it is no file")
    return path.is_file()


def _shown(path: Path) -> str:
    """The path with invalid characters escaped, so that it can be printed."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
