"""Winograd's minimal filtering F(m, r) by Toom and Cook's construction: matrices for any points.

`y = A^T [(G g) * (B^T d)]` are the m outputs of a filter g of r taps over d of m + r - 1 inputs
(Winograd 1980; Lavin and Gray, CVPR 2016). Rounding errors hang on the points: those of F(4, 3)
here, 0, +-1/sqrt(2), +-sqrt(2) and infinity, stay near the direct algorithm's (Alam et al., 2022).

Points come in pairs: 0 and infinity, then those that differ in sign alone. The two rows that a pair
has in a transform share their sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod, sqrt

Matrix = tuple[tuple[float, ...], ...]

TAPS = 3
_POINTS = {2: (1.0,), 4: (sqrt(0.5), sqrt(2.0))}
"""Those above 0, by outputs."""


@dataclass(frozen=True, slots=True)
class Winograd:
    """The matrices of F(outputs, 3).

    points    above 0
    filters   G, inputs x 3
    data      B^T, inputs x inputs
    result    A^T, outputs x inputs
    """

    outputs: int
    points: tuple[float, ...]
    filters: Matrix
    data: Matrix
    result: Matrix

    @property
    def inputs(self) -> int:
        """Numbers that go into one tile, and multiplications."""
        return self.outputs + TAPS - 1

    @property
    def ends(self) -> tuple[float, ...]:
        """Factors of every other input, from the first on for 0, from the second for infinity."""
        return self.data[0][::2]

    def shared(self, pair: int) -> tuple[float, ...]:
        """Factors of every other input in the rows of plus and minus one of the points.

        Inputs from the third on are added up; those one before each as well, which count times the
        point.
        """
        return self.data[2 * pair + 2][2::2]

    @classmethod
    def of(cls, outputs: int) -> Winograd:
        """F(2, 3) or F(4, 3)."""
        return _made(outputs)


@cache
def _made(outputs: int) -> Winograd:
    above = _POINTS[outputs]
    signed = [sign * p for p in above for sign in (1.0, -1.0)]
    points, size = [0.0, *signed], len(signed) + 2
    scales = [prod(p - q for q in points if q != p) for p in points]
    filters = [
        tuple(p**k / scale for k in range(TAPS)) for p, scale in zip(points, scales, strict=True)
    ]
    filters.insert(1, (0.0,) * (TAPS - 1) + (1.0,))
    data = [_polynomial([q for q in points if q != p], size) for p in points]
    data.insert(1, _polynomial(points, size))
    result = [(0.0**i, float(i == outputs - 1), *(p**i for p in signed)) for i in range(outputs)]
    return Winograd(outputs, above, tuple(filters), tuple(data), tuple(result))


def _polynomial(roots: list[float], length: int) -> tuple[float, ...]:
    """Coefficients of the product of (x - root), the constant first."""
    found = [1.0]
    for root in roots:
        shifted = [0.0, *found]
        found = [s - root * f for s, f in zip(shifted, [*found, 0.0], strict=True)]
    # points come in pairs of both signs: what should cancel, does
    clean = [0.0 if abs(x) < 1e-12 else round(x, 12) for x in found]
    return (*clean, *[0.0] * (length - len(clean)))
