"""A shared object as a kernel in this process."""

from __future__ import annotations

import _ctypes
import ctypes
import tempfile

from tilewright.roles import Artifact
from tilewright_tensor.host_kernel import HostKernel


class CKernel(HostKernel):
    """`HostKernel` of a shared object that offers `void run(char *const *)`."""

    def __init__(self, artifact: Artifact) -> None:
        super().__init__(artifact.metadata["operands"], artifact.metadata["workspace_bytes"])
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(artifact.data)
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
