"""Leave from the operating system to use the tile registers of AMX."""

from __future__ import annotations

import ctypes
import os
from functools import cache

from tilewright.errors import UsageError

_ARCH_PRCTL = 158
_ARCH_GET_XCOMP_SUPP, _ARCH_REQ_XCOMP_PERM = 0x1021, 0x1023
_TILE_DATA = 18


def grants_tiles() -> bool:
    """Whether the operating system has tile registers to grant: not all sandboxes have."""
    known = ctypes.c_uint64()
    libc = ctypes.CDLL(None)
    failed = libc.syscall(_ARCH_PRCTL, _ARCH_GET_XCOMP_SUPP, ctypes.byref(known))
    return not failed and bool(known.value >> _TILE_DATA & 1)


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
