"""Knobs about loops, under AutoTVM's names: their order, and words on them."""

from __future__ import annotations

# ruff: noqa: A002  `filter` is AutoTVM's word
import itertools
from collections.abc import Sequence
from typing import Literal

from tilewright.errors import UsageError
from tilewright.space.feasible.constraint import Expression, Knob
from tilewright.space.knobs import Knobs

ReorderPolicy = Literal["identity", "all", "interval_all", "candidate", "interleave"]


def define_reorder(
    knobs: Knobs,
    name: str,
    axes: Sequence[str],
    policy: ReorderPolicy = "all",
    *,
    interval: tuple[int, int] = (0, 0),
    candidate: Sequence[Sequence[str]] = (),
    spatial: Sequence[Sequence[str]] = (),
    reduce: Sequence[Sequence[str]] = (),
    filter: Expression | None = None,
) -> Knob:
    """Order named loops; an entity is a permutation (see `reorder_entities`)."""
    entities = reorder_entities(
        axes, policy, interval=interval, candidate=candidate, spatial=spatial, reduce=reduce
    )
    return knobs.define_entities(name, "reorder", entities, filter)


def define_annotate(
    knobs: Knobs,
    name: str,
    axes: Sequence[str],
    policy: str,
    *,
    once: Sequence[str] = ("vec",),
    num_anchor: int = 0,
    candidate: Sequence[Sequence[str]] = (),
    filter: Expression | None = None,
) -> Knob:
    """Put a word on each loop; an entity is the tuple of words (see `annotate_entities`)."""
    entities = annotate_entities(
        axes, policy, once=once, num_anchor=num_anchor, candidate=candidate
    )
    return knobs.define_entities(name, "annotate", entities, filter)


def reorder_entities(
    axes: Sequence[str],
    policy: ReorderPolicy = "all",
    *,
    interval: tuple[int, int] = (0, 0),
    candidate: Sequence[Sequence[str]] = (),
    spatial: Sequence[Sequence[str]] = (),
    reduce: Sequence[Sequence[str]] = (),
) -> tuple[tuple[int, ...], ...]:
    """Permutations `p` such that loop `axes[p[i]]` comes at place i, in AutoTVM's order.

    interval    `interval_all` permutes places interval[0] to interval[1] - 1 and leaves the others
    candidate   orders of axis names
    spatial     chains of axes that keep their own order when `interleave` merges them: without
                their last axes they come outside
    reduce      further chains, merged inside with the last axes of the spatial ones
    """
    count = len(axes)
    if policy == "identity":
        return (tuple(range(count)),)
    if policy == "all":
        return tuple(itertools.permutations(range(count)))
    if policy == "interval_all":
        begin, end = interval
        head, tail = tuple(range(begin)), tuple(range(end, count))
        return tuple(
            (*head, *middle, *tail) for middle in itertools.permutations(range(begin, end))
        )
    if policy == "candidate":
        return tuple(_permutation(axes, order) for order in candidate)
    if policy == "interleave":
        outer = _merge([chain[:-1] for chain in spatial])
        inner = _merge([*(chain[-1:] for chain in spatial), *reduce])
        return (_permutation(axes, [*outer, *inner]),)
    raise UsageError(
        f"reorder policy {policy!r} is unknown",
        remedy="known: identity, all, interval_all, candidate, interleave",
    )


def annotate_entities(
    axes: Sequence[str],
    policy: str,
    *,
    once: Sequence[str] = ("vec",),
    num_anchor: int = 0,
    candidate: Sequence[Sequence[str]] = (),
) -> tuple[tuple[str | int, ...], ...]:
    """One word per axis; the words mean something to the strategy only.

    policy   words joined by `_`: every combination of them with each word of `once` at most once;
             `try` stands for `none`, so `unroll` is one entity and `try_unroll_vec` all
             combinations of three words. `locate_cache` gives the places of `num_anchor` axes
             instead, `candidate` the caller's lists.
    """
    if policy == "candidate":
        return tuple(tuple(words) for words in candidate)
    if policy == "locate_cache":
        return tuple(itertools.combinations(range(len(axes)), num_anchor))
    words = ["none" if word == "try" else word for word in policy.split("_")]
    return tuple(
        entity
        for entity in itertools.product(words, repeat=len(axes))
        if all(entity.count(word) <= 1 for word in once)
    )


def _permutation(axes: Sequence[str], order: Sequence[str]) -> tuple[int, ...]:
    if sorted(axes) != sorted(order):
        raise UsageError(
            f"reorder of {list(axes)}: got the order {list(order)}", remedy="name each axis once"
        )
    return tuple(axes.index(axis) for axis in order)


def _merge(chains: Sequence[Sequence[str]]) -> list[str]:
    """One order that keeps each chain's, taking from the longest rest; ties go to the first."""
    rests = [list(chain) for chain in chains]
    merged = []
    while any(rests):
        longest = max(rests, key=len)
        merged.append(longest.pop(0))
    return merged
