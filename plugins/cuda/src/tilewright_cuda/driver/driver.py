"""What kernels need of a device: one protocol, three implementations.

PyCUDA where it is installed, `ctypes` on the driver's library where it is not, and an emulation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ModuleImage:
    """A module of an artefact: its text and, where it was compiled, its machine code."""

    text: str
    cubin: bytes | None


@dataclass(frozen=True, slots=True)
class Shape:
    """What one launch spans: blocks, threads of a block, bytes of dynamic shared memory."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int = 0


class DeviceRuntime(Protocol):
    """One device with one context and one stream; what is launched runs in order.

    Modules, functions and events are the implementation's own values, addresses are integers.
    Launches, copies, fills and records return at once; any later call may raise their errors.

    Raises MemoryError where the device has none left, DriverError where it refuses a call, and
    DeviceFaultError where the context is lost: nothing works any more in this process.
    """

    def current(self) -> AbstractContextManager[None]:
        """Inside, the calling thread has the context, whichever thread made this."""

    def load(self, image: ModuleImage) -> Any:
        """A module, ready to launch."""

    def unload(self, module: Any) -> None:
        """Unload a module; never raises."""

    def function(self, module: Any, name: str, shared_bytes: int) -> Any:
        """A kernel that may ask for so much dynamic shared memory."""

    def allocate(self, size: int) -> int:
        """Address of uninitialised memory, on 256 bytes at least on a real device."""

    def free(self, address: int) -> None:
        """Free memory; never raises."""

    def upload(self, address: int, array: NDArray[Any]) -> None:
        """Copy a contiguous array to the device."""

    def download(self, array: NDArray[Any], address: int) -> None:
        """Fill a contiguous array from the device."""

    def copy(self, to: int, address: int, size: int) -> None:
        """Copy bytes within the device."""

    def fill(self, address: int, word: int, count: int) -> None:
        """Write a 32-bit word so many times."""

    def launcher(self, function: Any, shape: Shape, addresses: Sequence[int]) -> Callable[[], None]:
        """A call that launches, all its arguments packed beforehand."""

    def capture(self, enqueue: Callable[[], None]) -> Callable[[], None] | None:
        """What `enqueue` launches as one graph to replay; None where the driver has no graphs."""

    def record(self) -> Any:
        """An event after everything launched so far."""

    def seconds(self, start: Any, stop: Any) -> float:
        """Time between two events, after waiting for the second."""

    def synchronize(self) -> None:
        """Wait for everything launched so far."""
