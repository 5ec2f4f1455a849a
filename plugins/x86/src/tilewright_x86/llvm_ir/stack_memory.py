"""Where on the stack of a function its scratch lies."""

from __future__ import annotations

from tilewright_tensor.expressions.buffer import Buffer
from tilewright_x86.llvm_ir.llvm_text import FunctionText

_MOST_BYTES = 4 << 20


class StackMemory:
    """Places of a function's stack; those given back are taken again where no more room is."""

    def __init__(self, function: FunctionText) -> None:
        self._function = function
        self._bytes = 0
        self._free: list[tuple[int, str]] = []

    def take(self, buffer: Buffer) -> tuple[int, str]:
        """(bytes, address) of a place for the buffer. Raises ValueError where none is left."""
        bytes_ = buffer.size * buffer.item_bytes
        if self._bytes + bytes_ <= _MOST_BYTES:
            self._bytes += bytes_
            return bytes_, self._function.alloca(bytes_)
        fits = [place for place in self._free if place[0] >= bytes_]
        if not fits:
            raise ValueError(
                f"buffer {buffer.name!r}: {self._bytes + bytes_} bytes of local memory, "
                f"the stack holds {_MOST_BYTES}; use workspace"
            )
        self._free.remove(min(fits))
        return min(fits)

    def give_back(self, place: tuple[int, str]) -> None:
        """What is there is not needed any more."""
        self._free.append(place)
