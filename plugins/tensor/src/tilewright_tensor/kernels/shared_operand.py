"""An operand that a kernel reads where the caller has it."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

_ALIGNMENT = 64


def may_be_shared(array: NDArray[Any]) -> bool:
    """Whether it is one run of memory that begins on a cache line, as kernels expect."""
    return bool(array.flags.c_contiguous) and array.ctypes.data % _ALIGNMENT == 0


class SharedOperand:
    """In one place, which is not the kernel's own: it neither writes nor guards it."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.places: NDArray[Any] = array[None]

    def have(self, count: int) -> None:
        """It is there."""

    def write(self, array: NDArray[Any]) -> None:
        """Raise ValueError: others read it."""
        raise ValueError("a shared operand stays as it was bound")

    def overrun(self) -> tuple[int, int]:
        """Nothing stands around it that could tell."""
        return 0, 0
