"""How scratch keeps side by side what lies apart in a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from tilewright_tensor.expressions.affine import Affine, Atom, Bounds, Var, divided


@dataclass(frozen=True, slots=True)
class Fold:
    """Runs of `run` indexes that begin `stride` apart, kept side by side."""

    run: int
    stride: int

    def place(self, offset: Affine, bounds: Bounds) -> Affine:
        """Where in the region an offset from its start is kept."""
        quotient, rest = divided(offset, self.stride, bounds)
        return quotient * self.run + rest

    def offset(self, place: Affine, bounds: Bounds) -> Affine:
        """The offset from the start of a place in the region."""
        quotient, rest = divided(place, self.run, bounds)
        return quotient * self.stride + rest


def fold_of(terms: Sequence[tuple[Atom, int]], bounds: Bounds) -> Fold | None:
    """How far apart the values of the terms lie, None where they lie together."""
    if max([c for _, c in terms], default=1) == 1:
        return None
    if any(not isinstance(atom, Var) or c < 0 or bounds[atom][0] for atom, c in terms):
        return None
    ordered = sorted(terms, key=lambda term: -term[1])
    for count in range(1, len(ordered) + 1):
        stride = gcd(*(c for _, c in ordered[:count]))
        run = Affine(tuple(ordered[count:])).range(bounds)[1] + 1
        whole = Affine(tuple(ordered[:count])).range(bounds)[1]
        if (
            whole
            and run < stride
            and whole // stride + 1
            == prod(bounds[atom][1] + 1 for atom, _ in ordered[:count] if isinstance(atom, Var))
        ):
            return Fold(run, stride)
    return None
