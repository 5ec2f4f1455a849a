"""A shared object as a kernel in this process."""

from __future__ import annotations

import _ctypes
import ctypes
import tempfile
from collections.abc import Sequence

from tilewright_tensor.kernels.host_kernel import HostKernel


class SharedObject(HostKernel):
    """`HostKernel` of a shared object with `void run(char *const *)`, as a `CModule` has it."""

    def __init__(
        self, code: bytes, operands: Sequence[tuple[Sequence[int], str]], scratch_bytes: int = 0
    ) -> None:
        super().__init__(operands, scratch_bytes)
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(code)
            file.flush()
            library = ctypes.CDLL(file.name)
        self._library: ctypes.CDLL | None = library
        self._function = library.run
        self._function.argtypes, self._function.restype = [ctypes.c_void_p], None

    def run(self, row: int) -> None:
        """Call the code."""
        self._function(row)

    def close(self) -> None:
        """Give code and memory back."""
        if self._library is not None:
            _ctypes.dlclose(self._library._handle)
        self._library = None
        super().close()
