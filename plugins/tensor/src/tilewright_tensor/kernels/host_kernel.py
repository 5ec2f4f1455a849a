"""A kernel in this process, with memory of its own; shared by targets on the processor."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright_tensor.expressions.dtype import numpy_type
from tilewright_tensor.kernels.cold_copies import ColdCopies, Copies
from tilewright_tensor.kernels.guarded_memory import GuardedMemory
from tilewright_tensor.kernels.operand_checks import check_operand, check_operands
from tilewright_tensor.kernels.shared_operand import SharedOperand, may_be_shared

_NAN_WORDS = 127  # the words that GuardedMemory asks for
_MORE_THAN_CACHES = 128 << 20  # bytes
_cold_copies = ColdCopies()


class HostKernel(ABC):
    """Implements `Kernel` but for what runs.

    >>> kernel.bind(arrays, {1: 8})   # operand 1 in eight places, the others in one
    >>> kernel.launch()               # first place of each operand
    >>> kernel.time(100)              # 100 launches, going on through the places
    >>> kernel.close()                # memory is gone

    operands          (shape, dtype) of each, inputs first
    workspace_bytes   scratch that launches share; content undefined
    table             addresses of all operands and, behind them, of the workspace: a row for each
                      combination of places
    turn              row of the next launch
    """

    def __init__(
        self, operands: Sequence[tuple[Sequence[int], str]], workspace_bytes: int = 0
    ) -> None:
        self._specs = [(tuple(shape), numpy_type(dtype)) for shape, dtype in operands]
        self._workspace = GuardedMemory(workspace_bytes)
        self._workspace.bytes.fill(0xFF)  # NaN: an answer that was left there is no answer
        self._operands: list[Copies | SharedOperand] = []
        self.table: NDArray[np.uint64] = np.empty((0, 0), np.uint64)
        self._first_row = 0
        self.turn = 0

    @abstractmethod
    def run(self, row: int) -> None:
        """Run once; `row` is the address of a row of the table."""

    def bind(self, arrays: Sequence[Any], copies: Mapping[int, int]) -> None:
        """Copy the arrays into memory of the kernel's own, 64-byte aligned.

        Further copies of a read-only array are made when launches come to them.

        Raises ValueError on another shape or dtype.
        """
        self._bind(arrays, copies, ())

    def bind_shared(self, arrays: Sequence[Any], shared: Collection[int]) -> None:
        """As `ReadsInPlace` says. Raises ValueError on another shape or dtype."""
        self._bind(arrays, {}, shared)

    def _bind(
        self, arrays: Sequence[Any], copies: Mapping[int, int], shared: Collection[int]
    ) -> None:
        check_operands(arrays, self._specs)
        self._operands = []
        for position, array in enumerate(arrays):
            if position in shared and may_be_shared(array):
                self._operands.append(SharedOperand(array))
                continue
            word = 0xFFFFFFFE - position % (_NAN_WORDS - 1)
            self._operands.append(_cold_copies.of(array, copies.get(position, 1), word))
        every = [operand.places for operand in self._operands]
        rows = math.lcm(1, *map(len, every))
        self.table = np.empty((rows, len(every) + 1), np.uint64)
        for column, places in enumerate(every):
            turn = np.arange(rows, dtype=np.uint64) % np.uint64(len(places))
            self.table[:, column] = places.ctypes.data + turn * np.uint64(places.strides[0])
        self.table[:, -1] = self._workspace.bytes.ctypes.data
        self._first_row = self.table.ctypes.data  # asked once: it takes a microsecond
        self.turn = 0

    def write(self, operand: int, array: Any) -> None:
        """Overwrite every copy of an operand. Raises ValueError on another shape or dtype."""
        check_operand(operand, array, *self._specs[operand])
        held = self._operands[operand]
        if isinstance(held, Copies):
            _cold_copies.forget(held)
        held.write(array)

    def read(self, operand: int) -> NDArray[Any]:
        """The first copy's present content, as a copy."""
        return self.operand(operand).copy()

    def write_part(self, operand: int, array: Any) -> None:
        """As `RunsParts` says, of the first copy."""
        self.operand(operand)[tuple(map(slice, array.shape))] = array

    def read_part(self, operand: int, shape: Sequence[int]) -> NDArray[Any]:
        """As `RunsParts` says, of the first copy."""
        return np.array(self.operand(operand)[tuple(map(slice, shape))])

    def operand(self, position: int) -> NDArray[Any]:
        """The first copy itself, not a copy of it.

        The next launch sees what is written there.
        """
        place: NDArray[Any] = self._operands[position].places[0]
        return place

    def launch(self) -> None:
        """Run once; returns when it is done."""
        rows = len(self.table)
        if rows == 1:
            self.run(self._first_row)
            return
        self._have(self.turn + 1)
        row = self._first_row + self.table.strides[0] * self.turn
        self.turn = (self.turn + 1) % rows
        self.run(row)

    def time(self, number: int) -> float:
        """Seconds that `number` launches take together, the loop around them included."""
        self._have(len(self.table))  # all: with what they hold, copies leave the caches
        start = time.perf_counter()
        for _ in range(number):
            self.launch()
        return time.perf_counter() - start

    def _have(self, rows: int) -> None:
        for operand in self._operands:
            operand.have(rows)

    def memory(self) -> Iterator[tuple[int, int]]:
        """(address, bytes) of every operand with all its copies, and of the workspace."""
        every = (operand.places for operand in self._operands)
        for block in (self._workspace.bytes[None], *every):
            yield block.ctypes.data, len(block) * block.strides[0]

    def find_overrun(self) -> str:
        """Where launches since `bind` wrote outside the operands and the workspace."""
        pieces = {f"operand {i}": operand for i, operand in enumerate(self._operands)}
        found = []
        for name, memory in {**pieces, "the workspace": self._workspace}.items():
            before, behind = memory.overrun()
            found += [f"{before} bytes before {name}"] if before else []
            found += [f"{behind} bytes behind {name}"] if behind else []
        return ", ".join(found)

    def flush(self) -> None:
        """Evict everything from the caches, by writing more than they hold."""
        np.empty(_MORE_THAN_CACHES, np.uint8).fill(0)

    def close(self) -> None:
        """Give the memory back."""
        self._operands = []
        self._workspace = GuardedMemory(0)
