"""Vectors and blocks, as the strategies here have them in common."""

from __future__ import annotations

from tilewright.vocabulary.task import Task
from tilewright_tensor.layouts.layout import Layout
from tilewright_x86.machine.isa import isa_of

CHAINS = 8
"""Sums a core works on at once: two multiply-adds a cycle, each of which takes four cycles."""


def lanes(task: Task) -> int:
    """float32 elements of a vector register of the target."""
    return isa_of(task.target).lanes(4)


def registers(task: Task) -> int:
    """Vector registers of the target: 32 with AVX-512, else 16."""
    return 32 if isa_of(task.target).vector_bits == 512 else 16


def largest_divisor(number: int, limit: int) -> int:
    """The largest divisor that is at most the limit."""
    return next(n for n in range(min(number, limit), 0, -1) if number % n == 0)


def channel_blocks(channels: int, lane_count: int) -> list[int]:
    """Blocks c of NCHW[c]c that divide the channels; 1 stands for plain NCHW.

    They hold whole vectors; where none does, all channels, of which the last vector is not full.
    """
    whole = [lane_count * n for n in (1, 2, 4) if channels % (lane_count * n) == 0]
    return whole or [channels]


def is_ragged(block: int, lane_count: int) -> bool:
    """Whether vectors of a block begin inside of cache lines.

    Threads that share out the channels of a row would then write to the same lines.
    """
    return block > lane_count and block % lane_count > 0


def vector_counts(channels: int, lane_count: int, most: int) -> list[int]:
    """How many vectors of channels a tile may hold, all as full as channels permit."""
    vectors = channels // largest_divisor(channels, lane_count)
    return [n for n in range(1, most + 1) if vectors % n == 0]


def panel_counts(vectors: int, most: int, *, padded: bool = True) -> list[int]:
    """How many vectors of filters may be side by side in a panel: divisors of all vectors.

    Where only 1 is one, the last panel may have fewer, as long as at most an eighth of the vectors
    of all panels is empty; none is unless `padded`.
    """
    missing = {n: -vectors % n for n in range(1, most + 1)}
    counts = [n for n, left in missing.items() if not left]
    if len(counts) == 1 and padded:
        counts = [n for n, left in missing.items() if 8 * left <= vectors + left]
    return counts


def blocked(block: int, axes: str = "HW") -> str:
    """`NCHW16c` for 16, `NCHW` for 1; `axes` are the spatial ones."""
    return f"NC{axes}{block}c" if block > 1 else f"NC{axes}"


def image_layouts(shape: tuple[int, ...], lane_count: int) -> list[str]:
    """The logical layout and, of an image, those in blocks of channels, the narrowest last."""
    blocks = channel_blocks(shape[1], lane_count)[::-1] if len(shape) == 4 else []
    return [Layout.logical(len(shape)).text, *(blocked(block) for block in blocks if block > 1)]
