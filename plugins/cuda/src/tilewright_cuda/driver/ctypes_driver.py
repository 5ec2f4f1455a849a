"""`DeviceRuntime` on the driver's library alone, where PyCUDA is not installed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from numpy.typing import NDArray

from tilewright_cuda.driver.driver import ModuleImage, Shape
from tilewright_cuda.driver.driver_errors import SUCCESS
from tilewright_cuda.driver.graphs import capture_graph
from tilewright_cuda.driver.libcuda import libcuda

_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class CtypesRuntime:
    """Implements `DeviceRuntime` in the device's primary context."""

    def __init__(self, ordinal: int) -> None:
        self._cuda = libcuda()
        device = self._cuda.new(ctypes.c_int, "device", ordinal)
        self._context = self._cuda.new(ctypes.c_void_p, "retain_context", device)
        self._cuda.call("set_context", self._context)
        self._stream = self._cuda.new(ctypes.c_void_p, "stream", 0)

    def current(self) -> AbstractContextManager[None]:
        self._cuda.function("set_context")(self._context)  # a lost one is told of by what follows
        return nullcontext()

    def load(self, image: ModuleImage) -> Any:
        return self._cuda.new(ctypes.c_void_p, "load_module", image.cubin)

    def unload(self, module: Any) -> None:
        self._cuda.function("unload_module")(module)

    def function(self, module: Any, name: str, shared_bytes: int) -> Any:
        function = self._cuda.new(ctypes.c_void_p, "function", module, name.encode())
        if shared_bytes:  # what is static counts as well
            self._cuda.call("set_attribute", function, _MAX_DYNAMIC_SHARED, shared_bytes)
        return function

    def allocate(self, size: int) -> int:
        return int(self._cuda.new(ctypes.c_uint64, "allocate", max(1, size)))

    def free(self, address: int) -> None:
        self._cuda.function("free")(address)

    def upload(self, address: int, array: NDArray[Any]) -> None:
        self._cuda.call("upload", address, array.ctypes.data, array.nbytes)

    def download(self, array: NDArray[Any], address: int) -> None:
        self.synchronize()
        self._cuda.call("download", array.ctypes.data, address, array.nbytes)

    def copy(self, to: int, address: int, size: int) -> None:
        self._cuda.call("copy", to, address, size, self._stream)

    def fill(self, address: int, word: int, count: int) -> None:
        self._cuda.call("fill", address, word, count, self._stream)

    def launcher(self, function: Any, shape: Shape, addresses: Sequence[int]) -> Callable[[], None]:
        values = (ctypes.c_uint64 * len(addresses))(*addresses)
        start = ctypes.addressof(values)
        arguments = (ctypes.c_void_p * len(addresses))(
            *(start + 8 * i for i in range(len(addresses)))
        )
        launch, error = self._cuda.function("launch"), self._cuda.error
        packed = (function, *shape.grid, *shape.block, shape.shared_bytes, self._stream, arguments)

        def enqueue(_kept: Any = values) -> None:
            code = launch(*packed, None)
            if code != SUCCESS:
                raise error(code, "launch")

        return enqueue

    def capture(self, enqueue: Callable[[], None]) -> Callable[[], None] | None:
        return capture_graph(self._cuda, self._stream, enqueue)

    def record(self) -> Any:
        event = self._cuda.new(ctypes.c_void_p, "event", 0)
        self._cuda.call("record", event, self._stream)
        return event

    def seconds(self, start: Any, stop: Any) -> float:
        self._cuda.call("wait", stop)
        milliseconds = self._cuda.new(ctypes.c_float, "elapsed", start, stop)
        for event in (start, stop):
            self._cuda.function("destroy_event")(event)
        return float(milliseconds) * 1e-3

    def synchronize(self) -> None:
        self._cuda.call("synchronize")
