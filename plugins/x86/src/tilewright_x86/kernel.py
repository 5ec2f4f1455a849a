"""A loaded artefact: memory for its operands, launches, and a timing loop in native code."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import UsageError
from tilewright.roles import Artifact
from tilewright_x86 import jit
from tilewright_x86.artifact import FORMAT
from tilewright_x86.isa import ISAS, require

_ALIGNMENT = 64


def aligned_bytes(count: int) -> NDArray[np.uint8]:
    """Uninitialised memory that starts on a cache line."""
    raw = np.empty(count + _ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start : start + count]


class X86Kernel:
    """Implements `Kernel`.

    >>> kernel.bind(arrays, {1: 8})   # operand 1 in eight places, the others in one
    >>> kernel.launch()               # first place of each operand
    >>> kernel.time(100)              # 100 launches, going on through the places
    >>> kernel.close()                # memory and code are gone
    """

    def __init__(self, objects: Sequence[bytes], metadata: Mapping[str, Any]) -> None:
        isa = next(isa for isa in ISAS if isa.name == metadata["isa"])
        self._specs = [(tuple(shape), np.dtype(dtype)) for shape, dtype in metadata["operands"]]
        self._code = jit.Loaded(objects, isa)
        self._address = self._code.address(metadata["symbol"])
        self._function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._address)
        self._workspace = aligned_bytes(metadata["workspace_bytes"])
        self._places: list[NDArray[Any]] = []  # of every operand, its copies along the first axis
        self._table: NDArray[np.uint64] = np.empty((0, 0), np.uint64)
        self._next = 0

    def bind(self, arrays: Sequence[Any], copies: Mapping[int, int]) -> None:
        """Copy the arrays into memory of the kernel's own, 64-byte aligned.

        Raises ValueError on another shape or dtype.
        """
        if len(arrays) != len(self._specs):
            raise ValueError(f"expected {len(self._specs)} operands, got {len(arrays)}")
        self._places = []
        for position, (array, (shape, dtype)) in enumerate(zip(arrays, self._specs, strict=True)):
            _check(position, array, shape, dtype)
            self._places.append(_copies(array, copies.get(position, 1)))
        rows = math.lcm(1, *map(len, self._places))
        self._table = np.empty((rows, len(self._places) + 1), np.uint64)
        for column, places in enumerate(self._places):
            turn = np.arange(rows, dtype=np.uint64) % np.uint64(len(places))
            self._table[:, column] = places.ctypes.data + turn * np.uint64(places.strides[0])
        self._table[:, -1] = self._workspace.ctypes.data
        self._next = 0

    def write(self, operand: int, array: Any) -> None:
        """Overwrite every copy of an operand. Raises ValueError on another shape or dtype."""
        _check(operand, array, *self._specs[operand])
        self._places[operand][...] = array

    def read(self, operand: int) -> NDArray[Any]:
        """The first copy's present content."""
        place: NDArray[Any] = self._places[operand][0]
        return place.copy()

    def operand(self, position: int) -> NDArray[Any]:
        """The first copy itself, not a copy of it.

        What is written there is seen by the next launch.
        """
        place: NDArray[Any] = self._places[position][0]
        return place

    def launch(self) -> None:
        """Run once; returns when it is done."""
        rows, columns = self._table.shape
        row = self._table.ctypes.data + 8 * columns * self._next
        self._next = (self._next + 1) % rows
        self._function(row)

    def time(self, number: int) -> float:
        """Seconds that `number` launches take together; the loop around them is native code."""
        rows, columns = self._table.shape
        nanoseconds: int = _clock().time(
            self._address, self._table.ctypes.data, rows, 8 * columns, self._next, number
        )
        self._next = (self._next + number) % rows
        return nanoseconds * 1e-9

    def flush(self) -> None:
        """Evict every copy of every operand, and the workspace, from all caches."""
        for memory in (self._workspace[None], *self._places):
            _clock().flush(memory.ctypes.data, len(memory) * memory.strides[0])

    def close(self) -> None:
        """Give memory and code back."""
        self._code.close()
        self._places = []
        self._workspace = aligned_bytes(0)


def load_kernel(artifact: Artifact) -> X86Kernel:
    """The artefact's code in this process.

    Raises UsageError for code that this machine cannot run or did not make.
    """
    from tilewright_x86.parallel import ensure_pool

    metadata = artifact.metadata
    if artifact.format != FORMAT:
        raise UsageError(
            f"artefact of format {artifact.format!r}: the x86 target loads {FORMAT!r}",
            remedy="build it again for this target",
        )
    require(metadata["isa"], f"artefact for isa={metadata['isa']}")
    if sha256(artifact.data).hexdigest() != metadata["sha256"]:
        raise UsageError(
            f"artefact of {len(artifact.data)} bytes: its code is not what was compiled",
            remedy="the file is damaged; build it again",
        )
    if metadata["threads"] > 1:
        ensure_pool()
    objects, start = [], 0
    for size in metadata["object_bytes"]:
        objects.append(artifact.data[start : start + size])
        start += size
    return X86Kernel(objects, metadata)


def _check(position: int, array: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if tuple(array.shape) != shape or array.dtype != dtype:
        raise ValueError(
            f"operand {position}: expected {dtype.name}{list(shape)}, "
            f"got {array.dtype}{list(array.shape)}"
        )


def _copies(array: Any, count: int) -> NDArray[Any]:
    """So many copies along a new first axis, each of which starts on a cache line."""
    stride = -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    one: NDArray[Any] = np.empty(array.shape, array.dtype)
    memory = aligned_bytes(count * stride)
    copies: NDArray[Any] = np.ndarray(
        (count, *array.shape), array.dtype, memory, strides=(stride, *one.strides)
    )
    copies[...] = array
    return copies


class _Clock:
    """The timing loop and the cache flush, compiled once a process."""

    def __init__(self) -> None:
        text = files("tilewright_x86").joinpath("clock.ll").read_text(encoding="utf-8")
        self._code = jit.Loaded([jit.compile_object(text, ISAS[-1])], ISAS[-1])
        long = ctypes.c_int64
        self.time = ctypes.CFUNCTYPE(long, long, long, long, long, long, long)(
            self._code.address("time_launches")
        )
        self.flush = ctypes.CFUNCTYPE(None, long, long)(self._code.address("flush"))


@cache
def _clock() -> _Clock:
    return _Clock()
