"""Memory of this process for machine code: written first, run afterwards, never both at once."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct

from tilewright.errors import UsageError

PAGE_BYTES = mmap.PAGESIZE
READ, RUN = mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_EXEC
_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS  # a child that is forked has data of its own


class CodeMemory:
    """Pages of zeros that are next to each other, writable until they are protected.

    >>> memory = CodeMemory(2 * PAGE_BYTES)
    >>> memory.write(0, code)
    >>> memory.protect(0, PAGE_BYTES, RUN)
    >>> memory.close()  # running or reading it afterwards is a fault

    Raises MemoryError where there are not so many.

    address  of the first byte
    """

    def __init__(self, size: int) -> None:
        try:
            self._pages = mmap.mmap(-1, max(1, size), _PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
        except OSError as error:
            raise MemoryError(f"no {size} bytes for machine code") from error
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._pages))

    def write(self, place: int, data: bytes | memoryview) -> None:
        """Copy to a place that is not protected."""
        self._pages[place : place + len(data)] = data

    def write_number(self, form: str, place: int, number: int) -> None:
        """Pack a number as `struct` does. Raises ValueError where it does not fit."""
        try:
            struct.pack_into(form, self._pages, place, number)
        except struct.error as error:
            raise ValueError(f"{number} is no number of the form {form}") from error

    def protect(self, place: int, size: int, access: int) -> None:
        """Leave whole pages with `READ` or `RUN` only.

        Raises UsageError where the operating system lets nothing run that was written.
        """
        libc = ctypes.CDLL(None, use_errno=True)
        if size and libc.mprotect(
            ctypes.c_void_p(self.address + place), ctypes.c_size_t(size), access
        ):
            reason = os.strerror(ctypes.get_errno())
            raise UsageError(
                f"the operating system refuses memory for machine code: {reason}",
                remedy="allow this process to run what it has written (SELinux: execmem)",
            )

    def close(self) -> None:
        """Give the memory back."""
        self._pages.close()
