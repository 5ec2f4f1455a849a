"""`DeviceRuntime` without a device: kernels run on the processor, one thread after the other."""

from __future__ import annotations

import _ctypes
import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from numpy.typing import NDArray

from tilewright.vocabulary.measure import DeviceFaultError
from tilewright_cuda.driver.driver import ModuleImage, Shape
from tilewright_cuda.driver.driver_errors import DriverError
from tilewright_cuda.emulation.compile import compile_kernels, fibres

_TURN = threading.Lock()  # the fibres of a process are one set, for one kernel at a time
_TEXT_BYTES = 512
_INVALID_VALUE = 1
_REFUSED, _FAILED = 1, 2


class Order(IntEnum):
    """In which order the threads of a block, and the blocks, take their turns.

    FORWARD  buffers end at a page that cannot be touched, asynchronous copies land when waited for
    REVERSE  buffers start at such a page, copies land at once
    RANDOM   as FORWARD, but copies land by chance
    """

    FORWARD = 0
    REVERSE = 1
    RANDOM = 2


class _KernelEntry(ctypes.Structure):
    """`tw_kernel` of shim.h."""

    _fields_ = (
        ("enter", ctypes.c_void_p),
        ("shared_begin", ctypes.c_void_p),
        ("shared_end", ctypes.c_void_p),
        ("written", ctypes.c_uint64),
        ("parameters", ctypes.c_uint),
        ("most_threads", ctypes.c_uint),
    )


@dataclass(frozen=True, slots=True)
class EmulatedFunction:
    """A kernel; `written` says of each parameter whether it points to what is not const."""

    name: str
    entry: _KernelEntry
    written: tuple[bool, ...]


class EmulatedRuntime:
    """Implements `DeviceRuntime`; `order` holds for the launches that come.

    A kernel that touches what is not its own, or whose threads miss each other at a barrier, loses
    the context, as on a device. Its time is that of the emulation.
    """

    def __init__(self, order: Order = Order.FORWARD, seed: int = 0) -> None:
        self.order = order
        self._seed = seed
        self._fibres = fibres()
        self._lost = ""

    def current(self) -> AbstractContextManager[None]:
        return nullcontext()

    def load(self, image: ModuleImage) -> Any:
        return ctypes.CDLL(str(compile_kernels(image.text)))

    def unload(self, module: Any) -> None:
        _ctypes.dlclose(module._handle)  # ctypes itself never closes

    def function(self, module: Any, name: str, shared_bytes: int) -> EmulatedFunction:
        try:
            entry = _KernelEntry.in_dll(module, f"tw_kernel_{name}")
        except ValueError:
            raise DriverError(500, f"the module has no kernel {name!r}") from None
        written = tuple(bool(entry.written >> i & 1) for i in range(entry.parameters))
        return EmulatedFunction(name, entry, written)

    def allocate(self, size: int) -> int:
        address = self._fibres.tw_allocate(size)
        if not address:
            raise MemoryError(f"no {size} bytes for a buffer")
        return int(address)

    def free(self, address: int) -> None:
        self._fibres.tw_free(address)

    def upload(self, address: int, array: NDArray[Any]) -> None:
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    def download(self, array: NDArray[Any], address: int) -> None:
        self._check()
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    def copy(self, to: int, address: int, size: int) -> None:
        ctypes.memmove(to, address, size)

    def fill(self, address: int, word: int, count: int) -> None:
        self._fibres.tw_fill(
            ctypes.c_void_p(address), ctypes.c_uint32(word), ctypes.c_size_t(count)
        )

    def launcher(
        self, function: EmulatedFunction, shape: Shape, addresses: Sequence[int]
    ) -> Callable[[], None]:
        if len(addresses) != len(function.written):
            raise DriverError(
                _INVALID_VALUE,
                f"{function.name} takes {len(function.written)} pointers, got {len(addresses)}",
            )
        three = ctypes.c_uint * 3
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        entry = ctypes.byref(function.entry)
        arguments = (ctypes.c_uint64 * len(addresses))(*addresses)
        extents = three(*shape.grid), three(*shape.block), ctypes.c_size_t(shape.shared_bytes)
        seed, size = ctypes.c_uint64(self._seed), ctypes.c_size_t(_TEXT_BYTES)

        def run() -> None:
            self._check()
            with _TURN:
                outcome = self._fibres.tw_launch(
                    entry, arguments, *extents, int(self.order), seed, text, size
                )
            if outcome == _REFUSED:
                raise DriverError(_INVALID_VALUE, f"{function.name}: {text.value.decode()}")
            if outcome == _FAILED:
                self._lost = f"{function.name}: {text.value.decode()}"
                self._check()

        return run

    def capture(self, enqueue: Callable[[], None]) -> Callable[[], None] | None:
        return None  # a launch costs nothing here that a graph would save

    def record(self) -> Any:
        return time.perf_counter()

    def seconds(self, start: Any, stop: Any) -> float:
        self._check()
        return max(float(stop - start), 1e-9)

    def synchronize(self) -> None:
        self._check()

    def _check(self) -> None:
        if self._lost:
            raise DeviceFaultError(self._lost)
