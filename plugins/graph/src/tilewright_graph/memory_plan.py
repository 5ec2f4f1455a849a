"""Where the intermediate tensors of a network lie in one arena."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ALIGNMENT = 64
"""Bytes; a cache line, and the widest vector."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A tensor's bytes, and the steps that write it first and read it last; both inclusive."""

    name: str
    bytes: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Offsets into the arena.

    arena_bytes   what the arena takes
    bound_bytes   the largest set of tensors alive at one step: no plan takes less
    """

    offsets: Mapping[str, int]
    arena_bytes: int
    bound_bytes: int


def plan_memory(lifetimes: Sequence[Lifetime]) -> MemoryPlan:
    """A placement in which no two tensors alive at the same step overlap.

    Largest first, each into the smallest gap that holds it among the tensors it meets in time, else
    behind them (greedy by size, Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
    Inference", 2020). A step's operands and results are alive together, so nothing is computed in
    place.
    """
    placed: list[tuple[Lifetime, int]] = []
    for tensor in sorted(lifetimes, key=lambda t: (-_aligned(t.bytes), t.first, t.name)):
        met = sorted(
            (offset, offset + _aligned(other.bytes))
            for other, offset in placed
            if other.first <= tensor.last and tensor.first <= other.last
        )
        placed.append((tensor, _best_gap(met, _aligned(tensor.bytes))))
    return MemoryPlan(
        {tensor.name: offset for tensor, offset in placed},
        max((offset + _aligned(tensor.bytes) for tensor, offset in placed), default=0),
        _largest_live_set(lifetimes),
    )


def _best_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """Offset of the smallest gap between taken ranges that holds `size`, else of their end."""
    best: tuple[int, int] | None = None
    end = 0
    for start, stop in taken:
        gap = start - end
        if gap >= size and (best is None or gap < best[0]):
            best = (gap, end)
        end = max(end, stop)
    return best[1] if best else end


def _largest_live_set(lifetimes: Sequence[Lifetime]) -> int:
    steps = {tensor.first for tensor in lifetimes}
    return max(
        (sum(_aligned(t.bytes) for t in lifetimes if t.first <= step <= t.last) for step in steps),
        default=0,
    )


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
