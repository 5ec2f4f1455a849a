"""The folder in which workers leave their temporary files."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tilewright.errors import UsageError

_ROUNDS_SECONDS = 1.0


class Scratch:
    """A folder of this process alone, removed by `close`.

    Its owner holds a lock on a file in it: a folder whose lock is free belongs to a process that
    was killed, and is removed when the next one is made, with the processes that live in it.
    """

    def __init__(self) -> None:
        """Raises UsageError where nothing can be written."""
        root = user_folder()
        with _room(root), _locked(root / "lock"):
            _reclaim(root)
            self.path = Path(tempfile.mkdtemp(prefix="pool-", dir=root))
            self._owner = lock_file(self.path / "owner")

    def folder(self, prefix: str) -> Path:
        """A new empty folder."""
        return Path(tempfile.mkdtemp(prefix=prefix, dir=self.path))

    def close(self) -> None:
        """Remove everything; a second call does nothing."""
        if self._owner >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._owner)
            self._owner = -1


def end_residents(folder: Path) -> None:
    """Kill every process whose temporary folder is this one or lies in it.

    That is a worker and its descendants, also a daemon that left its session and lost its
    parent; not one that has set another TMPDIR. Those that multiply are killed in rounds: none
    begins after a second, but for the first, as finding them may take longer than that.
    """
    deadline = time.monotonic() + _ROUNDS_SECONDS
    while residents := _residents(folder):
        for number in residents:
            with suppress(OSError):
                os.kill(number, signal.SIGKILL)
        if time.monotonic() >= deadline:
            break


def _residents(folder: Path) -> list[int]:
    mark = b"TMPDIR=" + os.fsencode(folder)
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # another user's, or gone
            variables = environment.read_bytes().split(b"\0")
            if any(each == mark or each.startswith(mark + b"/") for each in variables):
                found.append(int(environment.parent.name))
    return found


def user_folder() -> Path:
    """One temporary folder a user, closed to others: names in a shared one can be guessed.

    Raises UsageError where it cannot be made, or belongs to another user.
    """
    root = Path(tempfile.gettempdir()) / f"tilewright-{os.getuid()}"
    with _room(root):
        root.mkdir(mode=0o700, exist_ok=True)
    if root.is_symlink() or root.stat().st_uid != os.getuid():
        raise UsageError(
            f"{root} belongs to somebody else", remedy="set TMPDIR to a folder of yours"
        )
    return root


@contextmanager
def _room(folder: Path) -> Iterator[None]:
    """Errors of the file system raised inside are told with what to do about them."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"the temporary folder takes nothing: {error.strerror or error}",
            where=str(folder),
            remedy="make room in it, or set TMPDIR to another folder",
        ) from error


def _reclaim(root: Path) -> None:
    for folder in root.glob("pool-*"):
        try:
            owner = lock_file(folder / "owner", wait=False)
        except OSError:
            continue
        end_residents(folder)
        shutil.rmtree(folder, ignore_errors=True)
        os.close(owner)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = lock_file(path)
    try:
        yield
    finally:
        os.close(descriptor)


def lock_file(path: Path, *, wait: bool = True, shared: bool = False) -> int:
    """Descriptor of a file that is locked, for us alone or for all who share it.

    Raises OSError where we do not wait.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(descriptor, kind | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
