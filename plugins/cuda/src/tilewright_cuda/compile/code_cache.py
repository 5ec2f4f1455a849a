"""Compiled code on disk, found by a hash of its source."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

_MOST = 64
"""Files in each of a cache's 256 folders: some hundred megabytes altogether."""
_DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True)
class CodeCache:
    """Files in `tilewright/NAME` of the user's cache folder, shared by any number of processes.

    Where that folder cannot be written to, the process has one of its own as long as it lives. A
    file appears whole and ends in the SHA-256 of what stands before it: one that was cut short is
    not there. Of too many, those go that were used longest ago.
    """

    name: str
    suffix: str

    @property
    def folder(self) -> Path:
        """Where the files are."""
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(base, "tilewright", self.name)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return _own_folder()
        return folder if os.access(folder, os.W_OK) else _own_folder()

    def find(self, source: str) -> Path | None:
        """The cached file for this source; None where it is missing or cut short."""
        path = self._path(source)
        try:
            data = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        whole = sha256(data[:-_DIGEST_BYTES]).digest() == data[-_DIGEST_BYTES:]
        return path if whole else None

    def read(self, source: str) -> bytes | None:
        """The cached bytes for this source."""
        path = self.find(source)
        return path.read_bytes()[:-_DIGEST_BYTES] if path else None

    @contextmanager
    def claim(self, source: str) -> Iterator[None]:
        """Claims a source while it is compiled, so that it is compiled once.

        A second process waits, and should look again. Sources whose files are in one folder are
        claimed together; a process that ends holds no claim.
        """
        folder = self._path(source).parent
        with ExitStack() as held:
            with suppress(OSError):  # a full disk costs only speed
                folder.mkdir(parents=True, exist_ok=True)
                descriptor = os.open(folder, os.O_RDONLY)
                held.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield

    def keep(self, source: str, made: bytes) -> Path:
        """The file that holds it from now on. Raises OSError where there is no room."""
        path = self._path(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(made + sha256(made).digest())
        Path(file.name).replace(path)
        for old in sorted(path.parent.glob(f"*.{self.suffix}"), key=_last_used)[:-_MOST]:
            old.unlink(missing_ok=True)
        return path

    def _path(self, source: str) -> Path:
        key = sha256(source.encode()).hexdigest()
        return self.folder / key[:2] / f"{key}.{self.suffix}"


@cache
def _own_folder() -> Path:
    folder = tempfile.mkdtemp(prefix="tilewright-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _last_used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # another process has just dropped it
        return 0.0
