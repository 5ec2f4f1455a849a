"""A loaded artefact: memory for its operands, its launches, and times by the device's own clock."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from tilewright_cuda.driver.driver import DeviceRuntime, ModuleImage, Shape
from tilewright_cuda.driver.driver_errors import DriverError
from tilewright_cuda.program.artifact import Contents
from tilewright_cuda.program.cuda_program import Launch
from tilewright_tensor.expressions.dtype import numpy_type
from tilewright_tensor.kernels.operand_checks import check_operand, check_operands

_ALIGNMENT = 256
# From so many launches on a graph is replayed: it costs about as much as three. Python launches
# every few microseconds, and many a kernel takes less.
_GRAPH_LAUNCHES = 4
_MOST_LAUNCHES = 1024  # of one graph

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Method = Callable[Concatenate["CudaKernel", _P], _R]


def _in_any_thread(method: _Method[_P, _R]) -> _Method[_P, _R]:
    """The method inside the device's context, which a thread does not have by itself."""

    @wraps(method)
    def inside(self: CudaKernel, /, *arguments: _P.args, **named: _P.kwargs) -> _R:
        with self.runtime.current():
            return method(self, *arguments, **named)

    return inside


@dataclass(frozen=True, slots=True)
class _Places:
    """An operand's copies in device memory, one of `size` bytes every `stride` bytes."""

    address: int
    size: int
    copies: int
    stride: int

    def at(self, turn: int) -> int:
        return self.address + turn % self.copies * self.stride


class CudaKernel:
    """Implements `Kernel` for one operator and for a whole network.

    `scratch_bytes` are written to evict everything else from the caches: twice the last level.

    >>> kernel.bind(arrays, {1: 8})   # operand 1 in eight places, the others in one
    >>> kernel.launch()               # the next place of each operand
    >>> kernel.time(100)              # 100 launches, through all the places
    >>> kernel.close()                # memory and code are gone
    """

    def __init__(self, runtime: DeviceRuntime, contents: Contents, scratch_bytes: int) -> None:
        self.runtime = runtime
        self.program = contents.program
        self._specs = [(tuple(shape), numpy_type(d)) for shape, d in self.program.operands]
        self._modules: dict[int, Any] = {}
        self._functions: dict[tuple[int, str], Any] = {}
        self._load(contents)
        self._loaded = False
        self._scratch_bytes = scratch_bytes
        self._scratch = 0
        self._addresses: list[int] = []
        self.places: list[_Places] = []  # of the operands, then of the workspaces
        self._launches: dict[int, list[Callable[[], None]]] = {}
        self._runs: dict[tuple[int, int], Callable[[], None]] = {}
        self._row_count = 1
        self._next_row = 0

    @_in_any_thread
    def bind(self, arrays: Sequence[Any], copies: Mapping[int, int]) -> None:
        """Copy the arrays into device memory of the kernel's own.

        Raises ValueError on another shape or dtype.
        """
        check_operands(arrays, self._specs)
        self._give_back()
        for position, array in enumerate(arrays):
            self.places.append(self._allocate(array.nbytes, copies.get(position, 1)))
        for size in self.program.workspace_bytes:
            self.places.append(self._allocate(size, 1))
        for position, array in enumerate(arrays):
            self.write(position, array)
        self._row_count = math.lcm(1, *(places.copies for places in self.places))

    @_in_any_thread
    def write(self, operand: int, array: Any) -> None:
        """Overwrite every copy of an operand. Raises ValueError on another shape or dtype."""
        check_operand(operand, array, *self._specs[operand])
        places = self.places[operand]
        self.runtime.upload(places.address, np.ascontiguousarray(array))
        made = 1
        while made < places.copies:  # small constants have thousands: each copy doubles them
            more = min(made, places.copies - made)
            size = (more - 1) * places.stride + places.size
            self.runtime.copy(places.at(made), places.address, size)
            made += more

    @_in_any_thread
    def read(self, operand: int) -> NDArray[Any]:
        """The first copy's present content."""
        shape, dtype = self._specs[operand]
        array: NDArray[Any] = np.empty(shape, dtype)
        self.runtime.download(array, self.places[operand].address)
        return array

    @_in_any_thread
    def launch(self) -> None:
        """Run once; returns when it is done."""
        self.next_run()()
        self.runtime.synchronize()

    @_in_any_thread
    def time(self, number: int) -> float:
        """Seconds between events before the first and after the last of `number` launches.

        One more goes before, so that the device is busy while the host makes its first calls; where
        operands rotate, the last-level cache is flushed then.
        """
        first, timed = self.next_run(), self.runs(number)
        first()
        if self._row_count > 1:
            self.flush()
        start = self.runtime.record()
        timed()
        return self.runtime.seconds(start, self.runtime.record())

    def flush(self) -> None:
        """Evict everything from the last-level cache by writing twice as much."""
        if not self._scratch:
            self._scratch = self._taken(self._scratch_bytes)
        self.runtime.fill(self._scratch, 0, self._scratch_bytes // 4)

    @_in_any_thread
    def close(self) -> None:
        """Give memory and code back."""
        self._give_back()
        self._functions = {}
        for module in self._modules.values():
            self.runtime.unload(module)
        self._modules = {}

    @_in_any_thread
    def _load(self, contents: Contents) -> None:
        for number in sorted({launch.module for launch in self.program.launches}):
            image = ModuleImage(self.program.modules[number], contents.cubins[number])
            self._modules[number] = self.runtime.load(image)
        shared: dict[tuple[int, str], int] = {}
        for launch in self.program.launches:
            name = launch.module, launch.kernel
            shared[name] = max(launch.shared_bytes, shared.get(name, 0))
        for (module, kernel), wanted in shared.items():
            function = self.runtime.function(self._modules[module], kernel, wanted)
            self._functions[module, kernel] = function

    def next_run(self) -> Callable[[], None]:
        """What enqueues one run, on the next place of each operand."""
        row = self._next_row
        self._next_row = (row + 1) % self._row_count
        return self.runs(1, row)

    def runs(self, number: int, row: int = 0) -> Callable[[], None]:
        """What enqueues so many runs, the first on the places of this row, each on the next ones.

        From a few launches on it is a graph, where the driver has graphs.
        """
        asked = number, row % self._row_count
        if asked not in self._runs:
            self._runs[asked] = self._made(*asked)
        return self._runs[asked]

    def _made(self, number: int, row: int) -> Callable[[], None]:
        most = max(1, _MOST_LAUNCHES // len(self.program.launches))
        if number > most:
            parts = [
                self.runs(min(most, number - done), row + done) for done in range(0, number, most)
            ]

            def all_parts() -> None:
                for part in parts:
                    part()

            return all_parts
        rows = ((row + n) % self._row_count for n in range(number))
        launches = [launch for one in rows for launch in self._of_row(one)]

        def enqueue() -> None:
            for launch in launches:
                launch()

        if len(launches) >= _GRAPH_LAUNCHES:
            if not self._loaded:  # the driver may load code at its first launch, but in no capture
                for launch in self._of_row(row):
                    launch()
                self._loaded = True
            with suppress(DriverError):  # what a driver does not replay, it launches
                return self.runtime.capture(enqueue) or enqueue
        return enqueue

    def _of_row(self, row: int) -> list[Callable[[], None]]:
        if row not in self._launches:
            found = [self._launcher(launch, row) for launch in self.program.launches]
            self._launches[row] = found
        return self._launches[row]

    def _launcher(self, launch: Launch, row: int) -> Callable[[], None]:
        function = self._functions[launch.module, launch.kernel]
        shape = Shape(launch.grid, launch.block, launch.shared_bytes)
        addresses = [self.places[p.slot].at(row) + p.offset for p in launch.arguments]
        return self.runtime.launcher(function, shape, addresses)

    def _allocate(self, size: int, copies: int) -> _Places:
        stride = -(-size // _ALIGNMENT) * _ALIGNMENT
        return _Places(self._taken(size + (copies - 1) * stride), size, copies, stride)

    def _taken(self, size: int) -> int:
        address = self.runtime.allocate(size)
        self._addresses.append(address)
        return address

    def _give_back(self) -> None:
        self._runs, self._launches, self.places = {}, {}, []
        self._next_row, self._scratch = 0, 0
        for address in self._addresses:
            self.runtime.free(address)
        self._addresses = []
