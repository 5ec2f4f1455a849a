"""Where the intermediate tensors of a network lie in one arena."""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import accumulate
from operator import itemgetter

ALIGNMENT = 64
"""Bytes; a cache line, and the widest vector."""

_RETRIES = 50
"""Plans made after the first, at most; each takes milliseconds."""

_MOST_PAIRS = 20_000_000
"""Of tensors that retries may compare: some seconds."""

_MANY = 2000
"""Tensors that a plan compares each with each, at most: a second."""


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
    bound_bytes   the largest set of lifetimes at one step: no plan takes less
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
    results are alive together, so nothing is computed in place. Thousands of tensors, too many to
    compare each with each, are placed in the order of execution.
    """
    bound = _largest_live_set(lifetimes)
    if len(lifetimes) > _MANY:
        return MemoryPlan(*_in_order(lifetimes), bound)
    order = sorted(lifetimes, key=lambda t: (-_size(t), t.first, t.name))
    plan = best = _placed(order)
    for _ in range(min(_RETRIES, _MOST_PAIRS // max(1, len(lifetimes) ** 2))):
        if best[1] <= bound:
            break
        highest = max(range(len(order)), key=lambda i: plan[0][order[i].name] + _size(order[i]))
        order.insert(0, order.pop(highest))
        plan = _placed(order)
        best = min(best, plan, key=itemgetter(1))
    return MemoryPlan(*best, bound)


def rested(
    lifetimes: Sequence[Lifetime], touched: Sequence[int], distance: int
) -> Sequence[Lifetime]:
    """Lifetimes that go on until steps after the last have touched `distance` bytes.

    `touched`: bytes by step. So memory is not written anew while caches still hold it as shared.
    """
    if not distance:
        return lifetimes
    sums = list(accumulate(touched))
    ends = [min(bisect_left(sums, sums[t.last] + distance), len(sums) - 1) for t in lifetimes]
    return [replace(t, last=end) for t, end in zip(lifetimes, ends, strict=True)]


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
    changes: Counter[int] = Counter()
    for tensor in lifetimes:
        changes[tensor.first] += _size(tensor)
        changes[tensor.last + 1] -= _size(tensor)
    return max(accumulate(changes[step] for step in sorted(changes)), default=0)


def _in_order(lifetimes: Sequence[Lifetime]) -> tuple[dict[str, int], int]:
    """As `_placed`, each tensor when it is written, into the smallest gap that then holds it."""
    offsets: dict[str, int] = {}
    gaps: list[tuple[int, int]] = []  # (begin, end), by place; what is behind them all is free too
    end = most = 0
    leaving: list[tuple[int, int, int]] = []  # (last step, begin, end) of what is alive
    for tensor in sorted(lifetimes, key=lambda t: (t.first, -_size(t), t.name)):
        while leaving and leaving[0][0] < tensor.first:
            _, begin, stop = heappop(leaving)
            end = _freed(gaps, begin, stop, end)
        size = _size(tensor)
        fitting = [
            (stop - begin, place)
            for place, (begin, stop) in enumerate(gaps)
            if stop - begin >= size
        ]
        if fitting:
            place = min(fitting)[1]
            begin, stop = gaps.pop(place)
            if begin + size < stop:
                gaps.insert(place, (begin + size, stop))
        else:
            begin, end = end, end + size
        offsets[tensor.name] = begin
        most = max(most, end)
        heappush(leaving, (tensor.last, begin, begin + size))
    return offsets, most


def _freed(gaps: list[tuple[int, int]], begin: int, stop: int, end: int) -> int:
    """Adds a range to the gaps, joined with its neighbours; returns the end of the used part."""
    place = bisect(gaps, (begin, stop))
    if place < len(gaps) and gaps[place][0] == stop:
        stop = gaps.pop(place)[1]
    if place and gaps[place - 1][1] == begin:
        begin = gaps.pop(place - 1)[0]
        place -= 1
    if stop == end:
        return begin
    gaps.insert(place, (begin, stop))
    return end
