"""What a worker does to itself before it touches any foreign code."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import signal
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_FILE_BYTES = 4 << 30
_MORE_THREADS = 512


def confine(parent: int, memory_bytes: int) -> None:
    """Die with the parent, and within limits: memory, file size, threads; no core files.

    `memory_bytes` bounds the address space (0: no bound, which a driver that reserves terabytes
    needs). The limit on threads does not bind root. A segmentation fault prints where Python was.
    This contains crashes; it is no sandbox against code that means harm.
    """
    with suppress(OSError, AttributeError):  # only Linux has it
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked to be told
        os._exit(1)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, _FILE_BYTES)
    if memory_bytes:
        _limit(resource.RLIMIT_AS, memory_bytes)
    with suppress(OSError):  # the limit counts all threads of the user
        threads = int(Path("/proc/loadavg").read_text().split()[3].split("/")[1])
        _limit(resource.RLIMIT_NPROC, threads + _MORE_THREADS)
    faulthandler.enable()


def _limit(kind: int, amount: int) -> None:
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        amount = min(amount, hard)
    resource.setrlimit(kind, (amount, amount))
