"""A loaded artefact: memory for its operands, its launches, and times by the device's own clock."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilewright_cuda.artifact import Contents
from tilewright_cuda.driver import DeviceRuntime, ModuleImage, Shape
from tilewright_cuda.program import Launch

if TYPE_CHECKING:
    from tilewright.device import Device
    from tilewright.roles import Artifact, Kernel

_ALIGNMENT = 256
_GRAPH_LAUNCHES = 4  # from so many on a graph is replayed: it costs about as much as three launches


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
    >>> kernel.time(100)              # 100 launches, going on through the places
    >>> kernel.close()                # memory and code are gone
    """

    def __init__(self, runtime: DeviceRuntime, contents: Contents, scratch_bytes: int) -> None:
        self.runtime = runtime
        self.program = contents.program
        self._specs = [(tuple(shape), np.dtype(d)) for shape, d in self.program.operands]
        used = sorted({launch.module for launch in self.program.launches})
        self._modules = {
            number: runtime.load(ModuleImage(self.program.modules[number], contents.cubins[number]))
            for number in used
        }
        shared: dict[tuple[int, str], int] = {}
        for launch in self.program.launches:
            name = launch.module, launch.kernel
            shared[name] = max(launch.shared_bytes, shared.get(name, 0))
        self._functions = {
            (module, name): runtime.function(self._modules[module], name, wanted)
            for (module, name), wanted in shared.items()
        }
        self._scratch_bytes = scratch_bytes
        self._scratch = 0
        self._addresses: list[int] = []
        self.places: list[_Places] = []  # of the operands, then of the workspaces
        self._rows: dict[int, Callable[[], None]] = {}
        self._row_count = 1
        self._next_row = 0

    def bind(self, arrays: Sequence[Any], copies: Mapping[int, int]) -> None:
        """Copy the arrays into device memory of the kernel's own.

        Raises ValueError on another shape or dtype.
        """
        if len(arrays) != len(self._specs):
            raise ValueError(f"expected {len(self._specs)} operands, got {len(arrays)}")
        self._give_back()
        for position, (array, (shape, dtype)) in enumerate(zip(arrays, self._specs, strict=True)):
            _check(position, array, shape, dtype)
            self.places.append(self._allocate(array.nbytes, copies.get(position, 1)))
        for size in self.program.workspace_bytes:
            self.places.append(self._allocate(size, 1))
        for position, array in enumerate(arrays):
            self.write(position, array)
        self._row_count = math.lcm(1, *(places.copies for places in self.places))

    def write(self, operand: int, array: Any) -> None:
        """Overwrite every copy of an operand. Raises ValueError on another shape or dtype."""
        _check(operand, array, *self._specs[operand])
        places, contiguous = self.places[operand], np.ascontiguousarray(array)
        for turn in range(places.copies):
            self.runtime.upload(places.at(turn), contiguous)

    def read(self, operand: int) -> NDArray[Any]:
        """The first copy's present content."""
        shape, dtype = self._specs[operand]
        array: NDArray[Any] = np.empty(shape, dtype)
        self.runtime.download(array, self.places[operand].address)
        return array

    def launch(self) -> None:
        """Run once; returns when it is done."""
        self.next_run()()
        self.runtime.synchronize()

    def time(self, number: int) -> float:
        """Seconds between events before the first and behind the last of `number` launches.

        One more goes before, so that the device is busy while the host makes its first calls.
        """
        first, *runs = [self.next_run() for _ in range(number + 1)]
        first()
        start = self.runtime.record()
        for run in runs:
            run()
        return self.runtime.seconds(start, self.runtime.record())

    def flush(self) -> None:
        """Evict everything from the last-level cache by writing twice as much."""
        if not self._scratch:
            self._scratch = self._taken(self._scratch_bytes)
        self.runtime.fill(self._scratch, 0, self._scratch_bytes // 4)

    def close(self) -> None:
        """Give memory and code back."""
        self._give_back()
        self._functions = {}
        for module in self._modules.values():
            self.runtime.unload(module)
        self._modules = {}

    def next_run(self) -> Callable[[], None]:
        """What enqueues one run, on the next place of each operand."""
        row = self._next_row
        self._next_row = (row + 1) % self._row_count
        run = self._rows.get(row)
        if run is None:
            run = self._rows[row] = self._run(row)
        return run

    def _run(self, row: int) -> Callable[[], None]:
        launches = [self._launcher(launch, row) for launch in self.program.launches]
        if len(launches) == 1:
            return launches[0]

        def enqueue() -> None:
            for launch in launches:
                launch()

        if len(launches) < _GRAPH_LAUNCHES or self._row_count > 1:
            return enqueue
        return self.runtime.capture(enqueue) or enqueue

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
        self._rows, self.places, self._next_row, self._scratch = {}, [], 0, 0
        for address in self._addresses:
            self.runtime.free(address)
        self._addresses = []


def load_kernel(artifact: Artifact, device: Device) -> Kernel:
    """The artefact on a device. Raises UsageError where the device cannot run it."""
    from tilewright_cuda.artifact import contents_of
    from tilewright_cuda.devices import is_emulated, l2_bytes, open_runtime

    contents = contents_of(artifact)
    if is_emulated(device):
        from tilewright_cuda.emulation.kernel import EmulatedKernel
        from tilewright_cuda.emulation.runtime import EmulatedRuntime

        return EmulatedKernel(EmulatedRuntime(), contents, 2 * l2_bytes(device))
    from tilewright_cuda.devices import check_runs

    check_runs(contents, device)
    return CudaKernel(open_runtime(device), contents, 2 * l2_bytes(device))


def _check(position: int, array: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if tuple(array.shape) != shape or array.dtype != dtype:
        raise ValueError(
            f"operand {position}: expected {dtype.name}{list(shape)}, "
            f"got {array.dtype}{list(array.shape)}"
        )
