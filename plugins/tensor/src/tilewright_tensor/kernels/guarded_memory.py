"""Memory between two guard zones, which must not be written."""

from __future__ import annotations

import operator

import numpy as np
from numpy.typing import NDArray

_ALIGNMENT = 64
_ZONE_BYTES = 512  # 64 elements of the widest type


class GuardedMemory:
    """Uninitialised bytes that start on a cache line, and what stands around them.

    `word` fills the 512 bytes before and those behind. Give every piece another one, so that what
    was read beyond one and written beyond the next is seen; and one that is NaN as 16, 32 and 64
    bits, as 0xFFFFFF81 to 0xFFFFFFFF are, so that what is computed from it shows in the answer.
    """

    def __init__(self, size: int, word: int = 0xFFFFFFFF) -> None:
        padded = -(-size // _ALIGNMENT) * _ALIGNMENT
        raw = np.empty(padded + 2 * _ZONE_BYTES + _ALIGNMENT, np.uint8)
        start = -raw.ctypes.data % _ALIGNMENT + _ZONE_BYTES
        self.bytes: NDArray[np.uint8] = raw[start : start + size]
        self._before = raw[start - _ZONE_BYTES : start]
        self._behind = raw[start + size : start + padded + _ZONE_BYTES]
        zone = np.full((_ZONE_BYTES + _ALIGNMENT) // 4 + 1, word, "<u4").view(np.uint8)
        self._before[...] = zone[:_ZONE_BYTES]
        self._behind[...] = zone[size % 4 :][: len(self._behind)]
        self._intact = self._before.tobytes(), self._behind.tobytes()

    def overrun(self) -> tuple[int, int]:
        """How many bytes were changed before the memory and after it."""
        before, behind = self._intact
        return _changed(self._before.tobytes(), before), _changed(self._behind.tobytes(), behind)


def _changed(zone: bytes, intact: bytes) -> int:
    if zone == intact:  # looked at after every check, and counting takes ten times as long
        return 0
    return sum(map(operator.ne, zone, intact))
