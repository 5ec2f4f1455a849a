"""Ways to cut a loop into nested loops: the entities of a split knob."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from tilewright.errors import UsageError

SplitPolicy = Literal["factors", "power2", "verbose", "candidate"]
MAX_ENTITIES = 2**18
NO_LIMIT = 2**31


def divisors(length: int) -> tuple[int, ...]:
    """All divisors, ascending."""
    small = [n for n in range(1, math.isqrt(length) + 1) if length % n == 0]
    large = [length // n for n in reversed(small) if n * n != length]
    return (*small, *large)


@lru_cache(maxsize=512)
def split_entities(
    length: int,
    num_outputs: int,
    policy: SplitPolicy = "factors",
    max_factor: int = NO_LIMIT,
    no_tail: bool | None = None,
) -> tuple[tuple[int, ...], ...]:
    """Every complete factorisation `(outermost, ..., innermost)` that the policy allows.

    The outermost factor is the ceiling of what the inner ones leave. Policies and order are those
    of AutoTVM's define_split: `factors` takes divisors, `power2` powers of two up to the length,
    `verbose` both; the innermost factor changes slowest. One difference: `verbose` tries its
    factors in ascending order, where AutoTVM's order was that of a CPython set, which no record
    should depend on. Without `no_tail` (default: only `factors` has none) a tile may leave a tail,
    as long as it is smaller than the length.
    """
    candidates = [n for n in _candidates(length, policy) if n <= max_factor]
    exact = policy == "factors" if no_tail is None else no_tail
    entities = []
    for inner in _inner(length, num_outputs - 1, candidates, exact):
        entities.append((-(-length // math.prod(inner)), *inner))
        if len(entities) > MAX_ENTITIES:
            raise UsageError(
                f"split of {length} into {num_outputs}: more than {MAX_ENTITIES} ways",
                remedy="give max_factor, or split twice",
            )
    return tuple(entities)


def candidate_entities(
    length: int, num_outputs: int, candidates: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], ...]:
    """The caller's size lists, in order; a first entry of -1 becomes what the others leave."""
    entities = []
    for sizes in candidates:
        outer = -(-length // max(1, math.prod(sizes[1:])))
        if (
            len(sizes) != num_outputs
            or min(sizes[1:], default=1) < 1
            or sizes[0] not in (-1, outer)
        ):
            raise UsageError(
                f"split of {length} into {num_outputs}: candidate {list(sizes)} does not cover it",
                remedy=f"give {num_outputs} sizes with the first -1 or the ceiling of what is left",
            )
        entities.append((outer, *sizes[1:]))
    return tuple(entities)


def _candidates(length: int, policy: SplitPolicy) -> Sequence[int]:
    powers = [2**i for i in range(length.bit_length())]
    if policy == "factors":
        return divisors(length)
    if policy == "power2":
        return powers
    if policy == "verbose":
        return sorted({*divisors(length), *powers})
    raise UsageError(
        f"split policy {policy!r} is unknown", remedy="known: factors, power2, verbose, candidate"
    )


def _inner(
    length: int, slots: int, candidates: Sequence[int], exact: bool, tile: int = 1
) -> Iterator[tuple[int, ...]]:
    """Inner factors, outermost first; the first slot filled is the innermost."""
    if slots == 0:
        if length % tile == 0 or not exact:
            yield ()
        return
    for factor in candidates:
        # A tile as long as the loop is exact, so "no longer than the loop" is all a tail needs.
        if tile * factor > length:
            break
        if exact and length % (tile * factor):
            continue
        for outer in _inner(length, slots - 1, candidates, exact, tile * factor):
            yield (*outer, factor)
