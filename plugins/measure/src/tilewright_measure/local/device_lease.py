"""One run at a time on a device."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tilewright.vocabulary.device import Device
from tilewright_measure.worker.scratch import lock_file, user_folder

_log = logging.getLogger("tilewright")
_LOOK_SECONDS = 0.01
_TELL_SECONDS = 1.0


class DeviceLease:
    """Keeps a user's other runs off a device, batch by batch, so that they do not disturb times.

    >>> lease = DeviceLease(device)
    >>> with lease.held():   # waits for the holder, in this process or another
    ...     ...

    A lock on a file that stays in the user's temporary folder, and one on the place next in line:
    who has just had the device and wants it again at once comes behind who waits. Both are free as
    soon as their holder ends, however that comes, but not while it is suspended; the files hold
    its process number, for those who wait. An emulated device has none: its times are no
    device's.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._files = user_folder()
        self._told: set[str] = set()

    @contextmanager
    def held(self, stopped: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Have the device to ourselves, or go on without it once `stopped()` is true."""
        if self._device.attributes.get("emulated"):
            yield
            return
        with ExitStack() as device:
            with self._locked("next", stopped):
                device.enter_context(self._locked("device", stopped))
            yield

    @contextmanager
    def _locked(self, what: str, stopped: Callable[[], bool]) -> Iterator[None]:
        descriptor = self._wait(self._file(what), stopped)
        try:
            yield
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _wait(self, path: Path, stopped: Callable[[], bool]) -> int | None:
        began = time.monotonic()
        while not stopped():
            try:
                return _signed(lock_file(path, wait=False))
            except BlockingIOError:
                time.sleep(_LOOK_SECONDS)
            except OSError:  # somebody cleared the folder: noise is better than no result
                return None
            if time.monotonic() - began > _TELL_SECONDS:
                # whoever is next in line waits for the device, too
                holder = _holder(self._file("device"))
                self._tell(f"waiting for another run on {self._device.name}{holder}")
        return None

    def _file(self, what: str) -> Path:
        return self._files / f"{what}-{self._device.fingerprint}"

    def _tell(self, text: str) -> None:
        if text not in self._told:  # two that take turns wait for every batch
            self._told.add(text)
            _log.warning("%s", text)


def _signed(descriptor: int) -> int:
    with suppress(OSError):  # a full disk: those who wait know less
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, b"%d" % os.getpid(), 0)
    return descriptor


def _holder(path: Path) -> str:
    """Which process has locked a file, and whether it is suspended; empty where unknown."""
    with suppress(OSError, ValueError, IndexError):
        number = int(path.read_text())
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
        advice = f", which is suspended: fg or kill -CONT {number}" if state == "T" else ""
        return f", process {number}{advice}"
    return ""
