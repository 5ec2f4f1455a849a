"""Leave from the operating system to use the tile registers of AMX."""

from __future__ import annotations

import ctypes
import os
from functools import cache

from tilewright.errors import UsageError

_ARCH_PRCTL = 158
_ARCH_REQ_XCOMP_PERM = 0x1023
_TILE_DATA = 18


@cache
def permit_tiles() -> None:
    """Ask Linux once for this process and the threads that it starts.

    Without leave, the first use of a tile ends the process. Raises UsageError where it is refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _TILE_DATA):
        reason = os.strerror(ctypes.get_errno())
        raise UsageError(
            f"the operating system refuses the tile registers of AMX: {reason}",
            remedy="Linux 5.16 or later grants them; or compile for x86:isa=avx512_bf16",
        )
