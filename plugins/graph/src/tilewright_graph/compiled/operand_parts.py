"""Operands of a network's kernel, written and read from their beginnings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from tilewright.roles import Kernel, RunsParts

_T = TypeVar("_T")


class OperandParts:
    """Of one kernel. One that lacks `RunsParts` is given whole arrays, and computes all of them."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._able = kernel if isinstance(kernel, RunsParts) else None
        self._held: dict[int, Any] = {}

    def write(self, operand: int, array: Any, shape: tuple[int, ...]) -> None:
        """Write an array to the beginning of an operand of this shape.

        What lies behind it is of arrays before; of the first, its last rows are repeated, which the
        network can surely take.
        """
        if operand not in self._held:
            margins = [(0, most - own) for most, own in zip(shape, array.shape, strict=True)]
            whole = np.pad(array, margins, mode="edge") if margins else array.copy()
            self._held[operand] = None if self._able else whole
            self._kernel.write(operand, whole)
        elif self._able:
            self._able.write_part(operand, array)
        else:
            self._held[operand][_beginning(array.shape)] = array
            self._kernel.write(operand, self._held[operand])

    def read(self, operand: int, shape: tuple[int, ...]) -> Any:
        """A copy of so much of it."""
        if self._able:
            return self._able.read_part(operand, shape)
        return np.asarray(self._kernel.read(operand)[_beginning(shape)], order="C")

    def with_rows(self, rows: Sequence[int] | None, run: Callable[[], _T]) -> _T:
        """What `run` gives while no more rows of each dimension than these need be computed."""
        if rows is None or self._able is None:
            return run()
        self._able.take_rows(rows)
        try:
            return run()
        finally:
            self._able.take_rows(None)


def _beginning(shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(map(slice, shape))
