"""One rule for paths, on the command line and in files: from the current folder on, or from ~."""

from __future__ import annotations

import errno
import os.path
from pathlib import Path

from tilewright.errors import UsageError


def path_of(text: str | Path) -> Path:
    """The path that somebody wrote, `~` being the home folder; where there is none it stays."""
    return Path(os.path.expanduser(text))  # noqa: PTH111  Path's own raises for a home of nobody


def check_is_file(path: str | Path, what: str, hint: str = "", *, where: str = "") -> Path:
    """The path of a file that is there. Raises UsageError that says where it was looked for.

    what   `model file`
    hint   what to write instead, where more is known than that the path is wrong
    where  what names the path, such as a line of a pipeline file
    """
    path = path_of(path)
    try:
        if path.is_file():
            return path
        there = path.exists()
    except (OSError, ValueError) as error:  # too long a name, a loop of links, a NUL
        can = "read there" if isinstance(error, PermissionError) else "called that"
        message = f"no {what} can be {can}: {getattr(error, 'strerror', None) or error}"
        raise UsageError(message, where=where or str(path), remedy="check the path") from None
    if there:
        message = f"expected a {what}, got {'a folder' if path.is_dir() else 'no regular file'}"
    else:
        message = f"no such {what}" + ("" if path.is_absolute() else f" in {Path.cwd()}")
    message = f"{path}: {message}" if where else message
    raise UsageError(message, where=where or str(path), remedy=hint or "check the path")


def names_a_file(path: Path) -> bool:
    """Whether a file is there; not where nothing can be called that, such as for its length."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


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
