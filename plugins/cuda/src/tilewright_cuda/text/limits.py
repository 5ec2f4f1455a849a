"""What a launch may ask for: checked before compiling, by a model of registers too.

The model was fitted on what NVRTC 13 made of 280 random points of the strategies' spaces: its
median error is 5 registers, and it is at most 13 too high (`benchmarks/cuda/compile_rate.py` prints
such figures). Where it is too low, the cubin tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright_cuda.program.arch import Arch
from tilewright_cuda.text.launch_shape import LaunchShape

MOST_BLOCKS = (2**31 - 1, 65535, 65535)
"""Of a grid in x, y and z."""
_MOST_THREADS = (1024, 1024, 64)
_MODEL_ERROR = 16
"""Registers by which the model may be too high: what it refuses would have spilled."""


def check_launch(kernel: str, shape: LaunchShape, arch: Arch) -> None:
    """Raise ValueError for a launch that the architecture refuses, or that cannot be any good."""
    check_extents(kernel, shape.grid, shape.block, shape.shared_bytes, arch)
    most = registers_available(shape, arch)
    _limit(kernel, "registers of a thread at least", expected_registers(shape) - _MODEL_ERROR, most)


def check_extents(
    kernel: str, grid: Sequence[int], block: Sequence[int], shared_bytes: int, arch: Arch
) -> None:
    """Raise ValueError for a launch that the architecture refuses, whatever the kernel is."""
    for axis, extent, most in zip("xyz", grid, MOST_BLOCKS, strict=True):
        _limit(kernel, f"blocks in {axis}", extent, most)
    for axis, extent, most in zip("xyz", block, _MOST_THREADS, strict=True):
        _limit(kernel, f"threads in {axis}", extent, most)
    _limit(kernel, "threads in a block", prod(block), arch.threads_per_block)
    _limit(kernel, "bytes of shared memory", shared_bytes, arch.shared_per_block)


def registers_available(shape: LaunchShape, arch: Arch) -> int:
    """Registers that a thread can have; they are given out to warps in steps of 8 a thread."""
    warps = -(-shape.threads // arch.warp)
    return min(arch.registers_per_thread, arch.registers_per_block // (warps * arch.warp) // 8 * 8)


def expected_registers(shape: LaunchShape) -> int:
    """An estimate of the registers of a thread.

    Sums live throughout; what is fetched for them is partly fetched ahead; addresses, indexes and
    masks take about as many everywhere.
    """
    largest, *others = (*shape.register_floats, 0)
    return round(largest + 1.5 * sum(others) + 22)


def _limit(kernel: str, what: str, wanted: int, most: int) -> None:
    if wanted > most:
        raise ValueError(f"kernel {kernel}: {wanted} {what}, at most {most}")
