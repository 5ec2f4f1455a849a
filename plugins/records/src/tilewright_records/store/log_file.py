"""A file that several processes append lines to, and read on from where they were."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tilewright.errors import UsageError
from tilewright.paths import exists, is_file

_CHUNK = 2**24
_TAIL_BYTES = 64


class LogFile:
    """Whole lines in, whole lines out; nothing is created before the first append.

    A write holds an exclusive lock, a read a shared one, so none sees half a batch. A line that
    lost its end (a writer was killed, a disk was full) is closed by the next writer and stays one
    bad line. Raises UsageError, naming the file, for whatever the file system refuses.
    """

    def __init__(self, path: Path, *, create_parents: bool = False) -> None:
        self.path = path
        self._create_parents = create_parents
        self._read_to = 0
        self._tail = b""
        self._named = False
        with self._errors("open"):
            missing = not is_file(path)
            if missing and not create_parents and not exists(path.parent):
                raise FileNotFoundError("its folder does not exist")

    def read_new(self, restart: Callable[[], None]) -> Iterator[bytes]:
        """Lines written since the last read, without newlines.

        `restart` is called first where the file was replaced.
        """
        with self._errors("read"):
            if not exists(self.path):
                return
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH)
                yield from self._read_on(descriptor, restart)
            finally:
                os.close(descriptor)

    def rewind(self) -> None:
        """Begin at the first line with the next read."""
        self._read_to, self._tail = 0, b""

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
            new = not exists(self.path)
            if new and self._create_parents:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = self._open_locked(os.O_CREAT)
            try:
                see(self._read_on(descriptor, restart))
                self._write(descriptor, b"".join(make()))
                if not self._named:
                    # Also where the file was there: who made it may have been killed before this.
                    _sync_folder(self.path.parent)
                    self._named = True
                see(self._read_on(descriptor, restart))
            except (OSError, ValueError):
                if new and not os.fstat(descriptor).st_size:
                    self.path.unlink()  # under the lock: who waits for it makes the file anew
                raise
            finally:
                os.close(descriptor)

    def rewrite(self, shorten: Callable[[Sequence[bytes]], Iterable[bytes]]) -> None:
        """Replace the file by what `shorten` makes of its lines (with newlines), or leave it.

        Under the lock: another file is written, is on the disk, and then takes the name.
        """
        with self._errors("rewrite"):
            descriptor = self._open_locked()
            path = self.path.resolve()  # what a link names, not the link
            # One name for all, as only one at a time has the lock: what a killed one left goes.
            fresh = path.with_name(f"{path.name}.compact.tmp")
            try:
                fresh.unlink(missing_ok=True)
                with os.fdopen(os.dup(descriptor), "rb") as file:
                    lines = file.read().split(b"\n")
                with fresh.open("xb") as file:
                    file.writelines(shorten(lines))
                    file.flush()
                    os.fsync(file.fileno())
                fresh.chmod(os.fstat(descriptor).st_mode & 0o777)
                fresh.replace(path)
                _sync_folder(path.parent)
            except BaseException:
                fresh.unlink(missing_ok=True)
                raise
            finally:
                os.close(descriptor)

    def _open_locked(self, flags: int = 0) -> int:
        """The open file, locked against writers; not one that `rewrite` has replaced meanwhile."""
        while True:
            descriptor = os.open(self.path, flags | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o666)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), self.path.stat()):
                    return descriptor
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
        # By what it holds, not by its number: that of a file that is gone is given again.
        tail = os.pread(descriptor, len(self._tail), self._read_to - len(self._tail))
        if tail != self._tail:
            self._read_to, self._tail = 0, b""
            restart()
        while self._read_to < os.fstat(descriptor).st_size:
            chunk = os.pread(descriptor, _CHUNK, self._read_to)
            # Without an end: no line is that long, each piece is a bad one; or it is the last line,
            # whose end a kill took, as nobody else writes under the lock.
            whole = chunk.rfind(b"\n") + 1 or len(chunk)
            self._read_to += whole
            self._tail = chunk[max(0, whole - _TAIL_BYTES) : whole]
            yield from chunk[:whole].removesuffix(b"\n").split(b"\n")

    @contextmanager
    def _errors(self, verb: str) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:  # ValueError: a record too large
            reason = getattr(error, "strerror", None) or error
            raise UsageError(
                f"cannot {verb} the records file: {reason}",
                where=str(self.path),
                remedy="give a path to a file, in a folder that exists and has room",
            ) from error


def _sync_folder(folder: Path) -> None:
    """A new file's name is on the disk only when its folder is."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
