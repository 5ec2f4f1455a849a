"""The folder in which workers leave their temporary files."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tilewright.errors import UsageError


class Scratch:
    """A folder of this process alone, removed by `close`.

    Its owner holds a lock on a file in it: a folder whose lock is free belongs to a process that
    was killed, and is removed by whoever makes the next one.
    """

    def __init__(self) -> None:
        root = _root()
        with _locked(root / "lock"):
            _reclaim(root)
            self.path = Path(tempfile.mkdtemp(prefix="pool-", dir=root))
            self._owner = _lock(self.path / "owner")

    def folder(self, prefix: str) -> Path:
        """A new empty folder."""
        return Path(tempfile.mkdtemp(prefix=prefix, dir=self.path))

    def close(self) -> None:
        """Remove everything; a second call does nothing."""
        if self._owner >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._owner)
            self._owner = -1


def _root() -> Path:
    """One folder a user, closed to others: names in a shared temporary folder can be guessed."""
    root = Path(tempfile.gettempdir()) / f"tilewright-{os.getuid()}"
    root.mkdir(mode=0o700, exist_ok=True)
    if root.is_symlink() or root.stat().st_uid != os.getuid():
        raise UsageError(
            f"{root} belongs to somebody else", remedy="set TMPDIR to a folder of yours"
        )
    return root


def _reclaim(root: Path) -> None:
    for folder in root.glob("pool-*"):
        try:
            owner = _lock(folder / "owner", wait=False)
        except OSError:
            continue
        shutil.rmtree(folder, ignore_errors=True)
        os.close(owner)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = _lock(path)
    try:
        yield
    finally:
        os.close(descriptor)


def _lock(path: Path, *, wait: bool = True) -> int:
    """Descriptor of a file that is locked for us alone. Raises OSError where we do not wait."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
