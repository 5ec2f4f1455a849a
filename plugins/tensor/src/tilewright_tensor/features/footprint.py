"""How much memory an access touches while some loops run, by arithmetic on its strides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from operator import itemgetter

from tilewright_tensor.expressions.affine import Affine, Atom, Element, FloorDiv, Var
from tilewright_tensor.expressions.buffer import Buffer

LINE_BYTES = 64
"""Of a cache line."""

Extents = Mapping[str, int]
"""Of the loops that run, by variable; the others stand still."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """Distinct elements, and cache lines that hold them."""

    elements: int
    lines: int


def strides(buffer: Buffer, indices: Sequence[Affine]) -> tuple[tuple[int, Atom], ...]:
    """(elements from one value of the atom to the next, atom), smallest strides first."""
    found: list[tuple[int, Atom]] = []
    row = 1
    for extent, place in zip(reversed(buffer.shape), reversed(indices), strict=True):
        found += [(abs(factor) * row, atom) for atom, factor in place.terms]
        row *= extent
    found.sort(key=itemgetter(0))
    return tuple(found)


def footprint(
    terms: Sequence[tuple[int, Atom]], extents: Extents, elements_per_line: int
) -> Footprint:
    """What the loops touch of a buffer, for terms as `strides` gives them.

    Exact for tiles and sliding windows that begin at a line. A division and a remainder of one
    index count as if each ran by itself, so that the product may be too large.
    """
    run = pieces = 1  # elements that lie together, and how many such runs
    near_run = near_pieces = 1  # the same where gaps of less than a line do not count
    last = repeats = 0
    for stride, atom in terms:
        count = extents.get(atom.name, 1) if isinstance(atom, Var) else _values(atom, extents)[0]
        if count == 1:
            continue
        reach = stride * (count - 1)
        if stride == last and repeats:
            # two loops with one stride, as a window's place and tap: a + b - 1 places
            merged = repeats + count - 1
            pieces = pieces // repeats * merged
        elif stride <= run:
            run += reach
            merged = 0
        else:
            pieces *= count
            merged = count
        if stride <= max(near_run, elements_per_line):
            near_run += reach
        elif stride == last and repeats:
            near_pieces = near_pieces // repeats * merged
        else:
            near_pieces *= count
        last, repeats = stride, merged
    return Footprint(run * pieces, near_pieces * -(-near_run // elements_per_line))


def variables(atom: Atom) -> tuple[str, ...]:
    """Names of the variables that the atom depends on."""
    if isinstance(atom, Var):
        return (atom.name,)
    if isinstance(atom, Element):
        return tuple(sorted(var.name for var in atom.variables()))
    return tuple(name for inner, _ in atom.value.terms for name in variables(inner))


def _values(atom: Atom, extents: Extents) -> tuple[int, int]:
    """(how many values the atom takes, the largest less the smallest)."""
    if isinstance(atom, Var):
        count = extents.get(atom.name, 1)
        return count, count - 1
    if isinstance(atom, Element):
        found = prod(extents.get(name, 1) for name in variables(atom))
        return min(found, atom.extent), atom.extent - 1
    count, span = 1, 0
    for inner, factor in atom.value.terms:
        inner_count, inner_span = _values(inner, extents)
        count *= inner_count
        span += abs(factor) * inner_span
    if isinstance(atom, FloorDiv):
        span = (atom.value.constant % atom.divisor + span) // atom.divisor
    else:
        span = min(span, atom.divisor - 1)
    return min(count, span + 1), span
