"""What a nest asks of the machine: grid, block, shared memory and registers."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright_cuda.text.cuda_c import CUDA_C
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.ir.loop_ir import Allocate, Loop, LoopKind, Statement, inside

GRID: tuple[LoopKind, ...] = ("blockIdx.x", "blockIdx.y", "blockIdx.z")
THREADS: tuple[LoopKind, ...] = ("threadIdx.x", "threadIdx.y", "threadIdx.z")
SHARED_ALIGNMENT = 16
WARP = 32
"""Threads along x that have a fragment together."""


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """Extents by kind of binding, and memory of a block and of a thread.

    shared_bytes     the most that is alive at once
    register_floats  elements of the register buffers that are alive at once, the largest first
    local_bytes      of the addressable scratch of one thread
    """

    extents: dict[LoopKind, int]
    shared_bytes: int
    register_floats: tuple[int, ...]
    local_bytes: int

    @property
    def grid(self) -> tuple[int, int, int]:
        """Blocks in x, y and z."""
        x, y, z = (self.extents.get(kind, 1) for kind in GRID)
        return x, y, z

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block in x, y and z."""
        x, y, z = (self.extents.get(kind, 1) for kind in THREADS)
        return x, y, z

    @property
    def threads(self) -> int:
        """Threads of a block."""
        x, y, z = self.block
        return x * y * z


def launch_shape(nest: Statement) -> LaunchShape:
    """The shape of one top-level nest; loops bound alike run to the longest of them."""
    extents: dict[LoopKind, int] = {}
    shared, local = 0, 0
    registers: tuple[int, ...] = ()
    pending: list[tuple[Statement, tuple[Buffer, ...]]] = [(nest, ())]
    while pending:
        statement, alive = pending.pop()
        if isinstance(statement, Loop) and (statement.kind in GRID or statement.kind in THREADS):
            extents[statement.kind] = max(extents.get(statement.kind, 1), statement.extent)
        elif isinstance(statement, Allocate):
            alive = (*alive, statement.buffer)
            shared = max(shared, sum(aligned_bytes(b) for b in alive if b.scope == "shared"))
            local = max(local, sum(buffer_bytes(b) for b in alive if b.scope == "local"))
            own = {"register": 1, "fragment": WARP}
            here = sorted((b.size // own[b.scope] for b in alive if b.scope in own), reverse=True)
            if sum(here) > sum(registers):
                registers = tuple(here)
        pending += [(one, alive) for one in reversed(inside(statement))]
    return LaunchShape(extents, shared, registers, local)


def buffer_bytes(buffer: Buffer) -> int:
    """Size of a buffer. Raises ValueError for a dtype that kernels cannot have."""
    CUDA_C.type_of(buffer.dtype)
    return buffer.size * buffer.item_bytes


def aligned_bytes(buffer: Buffer) -> int:
    """Size of a shared buffer, rounded up so that the next one starts aligned."""
    return -(-buffer_bytes(buffer) // SHARED_ALIGNMENT) * SHARED_ALIGNMENT
