"""`DeviceRuntime` through PyCUDA; the only file that imports it."""

from __future__ import annotations

import atexit
import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

import pycuda.driver as pycuda  # noqa: TID253  this file is imported where it is wanted only
from numpy.typing import NDArray

from tilewright_cuda.driver.driver import ModuleImage, Shape
from tilewright_cuda.driver.driver_errors import DriverError
from tilewright_cuda.driver.graphs import capture_graph
from tilewright_cuda.driver.libcuda import libcuda


class PycudaRuntime:
    """Implements `DeviceRuntime` in the device's primary context.

    PyCUDA raises one class for a bad argument and for a lost context. So a failed call asks the
    driver again: from then on a lost context gives its own error to every call.
    """

    def __init__(self, ordinal: int) -> None:
        self._cuda = libcuda()
        # PyCUDA tells no codes, and so not why there is no context
        device = self._cuda.new(ctypes.c_int, "device", ordinal)
        self._primary = self._cuda.new(ctypes.c_void_p, "retain_context", device)
        pycuda.init()
        self._context = pycuda.Device(ordinal).retain_primary_context()
        self._context.push()
        atexit.register(self._context.pop)  # PyCUDA aborts a process that ends inside a context
        self._memory: dict[int, Any] = {}
        with self._told():
            self._stream = pycuda.Stream()

    def current(self) -> AbstractContextManager[None]:
        here = ctypes.c_void_p()  # another thread has none, this one perhaps another GPU's
        self._cuda.function("context")(ctypes.byref(here))
        return nullcontext() if here.value == self._primary else self._pushed()

    def load(self, image: ModuleImage) -> Any:
        with self._told():
            return pycuda.module_from_buffer(image.cubin)

    def unload(self, module: Any) -> None:
        """PyCUDA unloads a module that is no longer referenced."""

    def function(self, module: Any, name: str, shared_bytes: int) -> Any:
        with self._told():
            function = module.get_function(name)
            if shared_bytes:  # what is static counts as well
                limit = pycuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
                function.set_attribute(limit, shared_bytes)
            return function

    def allocate(self, size: int) -> int:
        with self._told():
            memory = pycuda.mem_alloc(max(1, size))
            self._memory[int(memory)] = memory
            return int(memory)

    def free(self, address: int) -> None:
        with suppress(pycuda.Error):
            self._memory.pop(address).free()

    def upload(self, address: int, array: NDArray[Any]) -> None:
        with self._told():
            pycuda.memcpy_htod(address, array)

    def download(self, array: NDArray[Any], address: int) -> None:
        with self._told():
            self._stream.synchronize()
            pycuda.memcpy_dtoh(array, address)

    def copy(self, to: int, address: int, size: int) -> None:
        with self._told():
            pycuda.memcpy_dtod_async(to, address, size, self._stream)

    def fill(self, address: int, word: int, count: int) -> None:
        with self._told():
            pycuda.memset_d32_async(address, word, count, self._stream)

    def launcher(self, function: Any, shape: Shape, addresses: Sequence[int]) -> Callable[[], None]:
        function.prepare("P" * len(addresses))
        packed = (shape.grid, shape.block, self._stream, *addresses)
        launch = function.prepared_async_call

        def enqueue() -> None:
            try:
                launch(*packed, shared_size=shape.shared_bytes)
            except pycuda.Error as error:
                raise self._cause(error) from error

        return enqueue

    def capture(self, enqueue: Callable[[], None]) -> Callable[[], None] | None:
        return capture_graph(self._cuda, self._stream.handle, enqueue)

    def record(self) -> Any:
        with self._told():
            return pycuda.Event().record(self._stream)

    def seconds(self, start: Any, stop: Any) -> float:
        with self._told():
            stop.synchronize()
            return float(start.time_till(stop)) * 1e-3

    def synchronize(self) -> None:
        with self._told():
            self._stream.synchronize()

    @contextmanager
    def _pushed(self) -> Iterator[None]:
        """PyCUDA aborts a thread that ends with a context that it has pushed."""
        with self._told():
            self._context.push()
        try:
            yield
        finally:
            self._context.pop()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except pycuda.Error as error:
            raise self._cause(error) from error

    def _cause(self, error: Exception) -> Exception:
        if isinstance(error, pycuda.MemoryError):
            return MemoryError(str(error))
        code = self._cuda.function("synchronize")()
        return self._cuda.error(code, "synchronize") if code else DriverError(-1, str(error))
