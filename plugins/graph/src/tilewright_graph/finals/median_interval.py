"""The median of differences, and what it may be in truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from statistics import NormalDist, median


@dataclass(frozen=True, slots=True)
class MedianInterval:
    """A median with the interval of the sign test: nothing is supposed of how differences spread.

    low, high  infinite where there are too few differences to tell
    """

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, differences: Sequence[float], confidence: float) -> MedianInterval:
        """The true median is within it with that confidence; of at least one difference.

        The ends are order statistics (Conover, "Practical Nonparametric Statistics", 3.2), by the
        normal approximation with its correction for continuity: not narrower than the exact ones.
        """
        ordered, count = sorted(differences), len(differences)
        spread = NormalDist().inv_cdf((1 + confidence) / 2) * count**0.5
        out = int((count - spread + 1) // 2)
        if out < 1:
            return cls(median(ordered), -inf, inf)
        return cls(median(ordered), ordered[out - 1], ordered[count - out])
