"""Whether two samples differ by more than noise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache

LEVEL = 0.05


def verdict(p: float | None, before: float, after: float, least: float = 0.0) -> str:
    """What became of a time, in a word; changes by no more than this share of it are none."""
    if p is None:
        return "too few samples"
    if p >= LEVEL or abs(after - before) <= least * before:
        return "no difference"
    return "slower" if after > before else "faster"


def mann_whitney(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The two-sided p-value that two samples come from one distribution; None for too few.

    Mann and Whitney, "On a Test of Whether one of Two Random Variables is Stochastically Larger
    than the Other", 1947: exact for small samples without ties, else the normal approximation with
    a correction for ties and for continuity. Three samples a side are the fewest.
    """
    m, n = len(first), len(second)
    if min(m, n) < 3:
        return None
    ranks = _ranks([*first, *second])
    u = sum(ranks[:m]) - m * (m + 1) / 2
    ties = [count for count in Counter([*first, *second]).values() if count > 1]
    if not ties and m * n <= 400:
        low = int(min(u, m * n - u))
        ways = sum(_arrangements(m, n, value) for value in range(low + 1))
        return min(1.0, 2 * ways / math.comb(m + n, m))
    total = m + n
    spread = (total + 1) - sum(t**3 - t for t in ties) / (total * (total - 1))
    variance = m * n / 12 * spread
    if variance <= 0:
        return 1.0
    z = max(0.0, abs(u - m * n / 2) - 0.5) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2))


def _ranks(values: Sequence[float]) -> list[float]:
    """From 1, equal values share theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in order[start : end + 1]:
            ranks[place] = (start + end) / 2 + 1
        start = end + 1
    return ranks


@cache
def _arrangements(m: int, n: int, u: int) -> int:
    """In how many orders of m and n distinct values U is exactly u."""
    if u < 0 or u > m * n:
        return 0
    if m == 0 or n == 0:
        return 1
    return _arrangements(m - 1, n, u - n) + _arrangements(m, n - 1, u)
