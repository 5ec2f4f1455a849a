"""One rule for paths: those on the command line and in files start in the current folder."""

from __future__ import annotations

from pathlib import Path

from tilewright.errors import UsageError


def check_is_file(path: str | Path, what: str, hint: str = "", *, where: str = "") -> None:
    """Raise UsageError unless a file is there; it says where it was looked for.

    what   `model file`
    hint   what to write instead, where more is known than that the path is wrong
    where  what names the path, such as a line of a pipeline file
    """
    path = Path(path)
    try:
        if path.is_file():
            return
        there = path.exists()
    except (OSError, ValueError) as error:  # too long a name, a loop of links, a NUL
        message = f"no {what} can be called that: {getattr(error, 'strerror', None) or error}"
        raise UsageError(message, where=where or str(path), remedy="check the path") from None
    if there:
        message = f"expected a {what}, got {'a folder' if path.is_dir() else 'no regular file'}"
    else:
        message = f"no such {what}" + ("" if path.is_absolute() else f" in {Path.cwd()}")
    message = f"{path}: {message}" if where else message
    raise UsageError(message, where=where or str(path), remedy=hint or "check the path")
