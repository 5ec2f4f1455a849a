"""A file that several processes append lines to, and read on from where they were."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tilewright.errors import UsageError

_CHUNK = 2**24


class LogFile:
    """Whole lines in, whole lines out; nothing is created before the first append.

    A write holds an exclusive lock, a read a shared one, so nobody sees half a batch. A line that
    lost its end (a writer was killed, a disk was full) is closed by the next writer and stays one
    bad line. Raises UsageError, naming the file, for whatever the file system refuses.
    """

    def __init__(self, path: Path, *, create_parents: bool = False) -> None:
        self.path = path
        self._create_parents = create_parents
        self._read_to = 0
        self._inode: int | None = None
        with self._errors("open"):
            if path.is_dir():
                raise IsADirectoryError("it is a folder")
            # is_dir() hides these errors, stat() does not.
            missing = not _exists(path)
            if missing and not create_parents and not _exists(path.parent):
                raise FileNotFoundError("its folder does not exist")

    def read_new(self, restart: Callable[[], None]) -> Iterator[bytes]:
        """Lines completed since the last read, without newlines.

        `restart` is called where the file is another one. A last line without its end is left for
        later.
        """
        with self._errors("read"):
            if not _exists(self.path):
                return
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH)
                yield from self._read_on(descriptor, restart)
            finally:
                os.close(descriptor)

    def append(
        self,
        make: Callable[[], Sequence[bytes]],
        see: Callable[[Iterator[bytes]], None],
        restart: Callable[[], None],
    ) -> None:
        """Append lines, all or none, and return when they are on the disk.

        Under the lock, `see` gets the lines that others wrote meanwhile, `make` then gives the
        lines to write, and `see` gets those too.
        """
        with self._errors("write"):
            if self._create_parents:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            fresh = not _exists(self.path)
            descriptor = os.open(self.path, flags, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                see(self._read_on(descriptor, restart))
                self._write(descriptor, b"".join(make()))
                if fresh:
                    _sync_folder(self.path.parent)
                see(self._read_on(descriptor, restart))
            finally:
                os.close(descriptor)

    def _write(self, descriptor: int, data: bytes) -> None:
        end = os.fstat(descriptor).st_size
        if end and os.pread(descriptor, 1, end - 1) != b"\n":
            data = b"\n" + data
        try:
            written = os.write(descriptor, data)
            while written < len(data):
                written += os.write(descriptor, data[written:])
            os.fdatasync(descriptor)
        except OSError:
            os.ftruncate(descriptor, end)
            raise

    def _read_on(self, descriptor: int, restart: Callable[[], None]) -> Iterator[bytes]:
        status = os.fstat(descriptor)
        if self._inode is not None and (
            status.st_ino != self._inode or status.st_size < self._read_to
        ):
            self._read_to = 0
            restart()
        self._inode = status.st_ino
        while self._read_to < status.st_size:
            chunk = os.pread(descriptor, _CHUNK, self._read_to)
            whole = chunk.rfind(b"\n") + 1
            if not whole:
                if len(chunk) < _CHUNK:
                    return
                # No line is that long: skip it piece by piece, each a bad line.
                whole = len(chunk)
            self._read_to += whole
            yield from chunk[:whole].removesuffix(b"\n").split(b"\n")

    @contextmanager
    def _errors(self, verb: str) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            reason = getattr(error, "strerror", None) or error
            raise UsageError(
                f"cannot {verb} the records file: {reason}",
                where=str(self.path),
                remedy="give a path to a file, in a folder that exists and has room",
            ) from error


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except FileNotFoundError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    """A new file's name is on the disk only when its folder is."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
