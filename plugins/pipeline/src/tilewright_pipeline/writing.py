"""Writes files, and says whether a run can write where it should, and why it cannot."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tilewright.errors import UsageError
from tilewright.paths import exists


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


@contextmanager
def writing_file(path: Path, what: str) -> Iterator[None]:
    """As `writing`, of a file, with the folders above it made."""
    with writing(path, what):
        path.parent.mkdir(parents=True, exist_ok=True)
        yield


def write_whole(path: Path, text: str, what: str) -> None:
    """Write a file whole or not at all. Raises UsageError where it cannot be written."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with writing(path, what):
        try:
            fresh.write_text(text, "utf-8")
            fresh.replace(path)
        except OSError:
            fresh.unlink(missing_ok=True)
            raise


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


def _shown(path: Path) -> str:
    """The path with invalid characters escaped, so that it can be printed."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
