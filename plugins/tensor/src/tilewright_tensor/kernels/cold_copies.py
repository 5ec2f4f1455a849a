"""Copies of constants, kept for the kernels that come after."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright_tensor.kernels.guarded_memory import GuardedMemory

_ALIGNMENT = 64
_KEPT_BYTES = 1 << 30


class Copies:
    """An array so many times along a new first axis of `places`, each on a cache line.

    A place holds the array from when it is asked for: memory that no launch comes to is never
    touched. `word` guards them, see GuardedMemory.
    """

    def __init__(self, array: NDArray[Any], count: int, word: int) -> None:
        self.array = array
        stride = -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        self.memory = GuardedMemory((count - 1) * stride + array.nbytes, word)
        rows = np.empty(array.shape, array.dtype).strides
        self.places: NDArray[Any] = np.ndarray(
            (count, *array.shape), array.dtype, self.memory.bytes, strides=(stride, *rows)
        )
        self._made = 0
        self.have(count if array.flags.writeable else 1)  # later it may be another array

    def have(self, count: int) -> None:
        """See to it that the first so many places hold the array."""
        if count > self._made:
            self.places[self._made : count] = self.array
            self._made = count

    def write(self, array: NDArray[Any]) -> None:
        """Overwrite every place."""
        self.places[...] = array
        self._made = len(self.places)

    def overrun(self) -> tuple[int, int]:
        """As `GuardedMemory` says it, of all places together."""
        return self.memory.overrun()


class ColdCopies:
    """Makes copies of arrays, and reuses those of a read-only array.

    The candidates of a task share their constants, and memory touched for the first time takes
    longer to write than the kernel runs that is measured on it. So the last gigabyte is kept.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, int, int], Copies] = OrderedDict()

    def of(self, array: NDArray[Any], count: int, word: int) -> Copies:
        """So many copies of an array, guarded by a word."""
        if array.flags.writeable or count == 1:
            return Copies(array, count, word)
        key = id(array), count, word  # nothing else has this id while it is kept
        copies = self._kept.pop(key, None)
        if copies is None:
            self._make_room(count * array.nbytes)
            copies = Copies(array, count, word)
        self._kept[key] = copies
        return copies

    def forget(self, copies: Copies) -> None:
        """Keep these no longer: they are about to change."""
        if len(copies.places) == 1:  # such are never kept
            return
        self._kept = OrderedDict((k, kept) for k, kept in self._kept.items() if kept is not copies)

    def _make_room(self, size: int) -> None:
        """Before the new ones are made, so that they get memory that is in use already."""
        while self._kept and size + sum(c.places.nbytes for c in self._kept.values()) > _KEPT_BYTES:
            self._kept.popitem(last=False)
