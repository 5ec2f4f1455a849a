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

    A processor (a device with `cores`) is shared by processes that are confined to cores of their
    own (`taskset`, a fleet's workers): each has those to itself, and who may use all of them waits
    until nobody has any.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._files = user_folder()
        self._told: set[str] = set()

    @contextmanager
    def held(self, stopped: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Have the device to ourselves, or go on without it once `stopped()` is true."""
        if self._device.emulated:
            yield
            return
        cores = _own_cores(self._device)
        with ExitStack() as kept:
            with self._locked("next", stopped):
                kept.enter_context(self._locked("device", stopped, shared=bool(cores)))
            if cores:
                # In ascending order, as everybody: none waits for one that waits for it.
                with self._locked(f"next-core{cores[0]}", stopped):
                    for core in cores:
                        kept.enter_context(self._locked(f"core{core}", stopped))
            yield

    @contextmanager
    def _locked(
        self, what: str, stopped: Callable[[], bool], *, shared: bool = False
    ) -> Iterator[None]:
        descriptor = self._wait(what, stopped, shared)
        try:
            yield
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _wait(self, what: str, stopped: Callable[[], bool], shared: bool) -> int | None:
        began = time.monotonic()
        while not stopped():
            try:
                return _signed(lock_file(self._file(what), wait=False, shared=shared))
            except BlockingIOError:
                time.sleep(_LOOK_SECONDS)
            except OSError:  # somebody cleared the folder: noise is better than no result
                return None
            if time.monotonic() - began > _TELL_SECONDS:
                # whoever is next in line waits for the device, too
                waited = what.replace("next-", "") if "core" in what else "device"
                holder = _holder(self._file(waited))
                self._tell(f"waiting for another run on {self._device.name}{holder}")
        return None

    def _file(self, what: str) -> Path:
        return self._files / f"{what}-{self._device.fingerprint}"

    def _tell(self, text: str) -> None:
        if text not in self._told:  # two that take turns wait for every batch
            self._told.add(text)
            _log.warning("%s", text)


def _own_cores(device: Device) -> tuple[int, ...]:
    """The cores that this process is confined to; none where it may use the whole device."""
    if "cores" not in device.attributes:
        return ()
    allowed = os.sched_getaffinity(0)
    return tuple(sorted(allowed)) if len(allowed) < (os.cpu_count() or 1) else ()


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
