"""Winograd's minimal filtering F(m, r) by Toom and Cook's construction: matrices for any points.

`y = A^T [(G g) * (B^T d)]` are the m outputs of a filter g of r taps over d of m + r - 1 inputs
(Winograd 1980; Lavin and Gray, CVPR 2016). Rounding errors hang on the points: those of F(4, 3)
here, 0, +-1/sqrt(2), +-sqrt(2) and infinity, stay near the direct algorithm's (Alam et al., 2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod, sqrt

Matrix = tuple[tuple[float, ...], ...]

TAPS = 3
_POINTS = {2: (0.0, 1.0, -1.0), 4: (0.0, sqrt(0.5), -sqrt(0.5), sqrt(2.0), -sqrt(2.0))}
"""Finite points by outputs; the last one is infinity."""


@dataclass(frozen=True, slots=True)
class Winograd:
    """The matrices of F(outputs, 3).

    filters   G, inputs x 3
    data      B^T, inputs x inputs
    result    A^T, outputs x inputs
    """

    outputs: int
    filters: Matrix
    data: Matrix
    result: Matrix

    @property
    def inputs(self) -> int:
        """Numbers that go into one tile, and multiplications."""
        return self.outputs + TAPS - 1

    @classmethod
    def of(cls, outputs: int) -> Winograd:
        """F(2, 3) or F(4, 3)."""
        return _made(outputs)


@cache
def _made(outputs: int) -> Winograd:
    points = _POINTS[outputs]
    scales = [prod(p - q for q in points if q != p) for p in points]
    filters = [
        tuple(p**k / scale for k in range(TAPS)) for p, scale in zip(points, scales, strict=True)
    ]
    data = [_polynomial([q for q in points if q != p], len(points) + 1) for p in points]
    result = [(*(p**i for p in points), 1.0 if i == outputs - 1 else 0.0) for i in range(outputs)]
    infinity = (0.0,) * (TAPS - 1) + (1.0,)
    return Winograd(
        outputs,
        (*filters, infinity),
        (*data, _polynomial(list(points), len(points) + 1)),
        tuple(result),
    )


def _polynomial(roots: list[float], length: int) -> tuple[float, ...]:
    """Coefficients of the product of (x - root), the constant first."""
    found = [1.0]
    for root in roots:
        shifted = [0.0, *found]
        found = [s - root * f for s, f in zip(shifted, [*found, 0.0], strict=True)]
    # points come in pairs of both signs: what should cancel, does
    clean = [0.0 if abs(x) < 1e-12 else round(x, 12) for x in found]
    return (*clean, *[0.0] * (length - len(clean)))
