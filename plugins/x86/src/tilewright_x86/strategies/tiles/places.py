"""Where elements lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tilewright_tensor.expressions.affine import Affine, Var, floor_div, mod


def unravelled(
    place: Affine, shape: Sequence[int], bounds: Mapping[Var, tuple[int, int]]
) -> list[Affine]:
    """The index of an element of a shape from its place in row-major order."""
    index = []
    for d, extent in enumerate(shape):
        quotient = floor_div(place, prod(shape[d + 1 :]), bounds)
        index.append(mod(quotient, extent, bounds) if d else quotient)
    return index
