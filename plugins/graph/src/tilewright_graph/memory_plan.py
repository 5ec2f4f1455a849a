"""Where the intermediate tensors of a network lie in one arena."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

ALIGNMENT = 64
"""Bytes; a cache line, and the widest vector."""

_RETRIES = 50
"""Plans made after the first, at most; each takes milliseconds."""


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

    One after the other, each into the smallest gap that holds it among the tensors it meets in
    time, else behind them: the largest first (greedy by size, Pisarchyk and Lee, "Efficient Memory
    Management for Deep Neural Net Inference", 2020). While that misses the bound, what ends highest
    is placed first of all and the rest anew; the best such plan counts. A step's operands and
    results are alive together, so nothing is computed in place.
    """
    bound = _largest_live_set(lifetimes)
    order = sorted(lifetimes, key=lambda t: (-_size(t), t.first, t.name))
    plan = best = _placed(order)
    for _ in range(_RETRIES):
        if best[1] <= bound:
            break
        highest = max(range(len(order)), key=lambda i: plan[0][order[i].name] + _size(order[i]))
        order.insert(0, order.pop(highest))
        plan = _placed(order)
        best = min(best, plan, key=itemgetter(1))
    return MemoryPlan(*best, bound)


def _size(tensor: Lifetime) -> int:
    """Its bytes in the arena."""
    return -(-tensor.bytes // ALIGNMENT) * ALIGNMENT


def _placed(tensors: Sequence[Lifetime]) -> tuple[dict[str, int], int]:
    """(offset of each tensor, bytes of the arena), placed in this order."""
    placed: list[tuple[Lifetime, int]] = []
    for tensor in tensors:
        met = sorted(
            (offset, offset + _size(other))
            for other, offset in placed
            if other.first <= tensor.last and tensor.first <= other.last
        )
        placed.append((tensor, _best_gap(met, _size(tensor))))
    offsets = {tensor.name: offset for tensor, offset in placed}
    return offsets, max((offset + _size(tensor) for tensor, offset in placed), default=0)


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
        (sum(_size(t) for t in lifetimes if t.first <= step <= t.last) for step in steps),
        default=0,
    )
