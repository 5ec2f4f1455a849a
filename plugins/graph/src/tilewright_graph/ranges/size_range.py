"""The sizes that a named dimension may have, and the buckets that serve them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.sizes import MOST_STEP

_TEXT = re.compile(r"(\d{1,9})(?:\.\.(\d{1,9}))?")

_MOST_SIZES = 4096
"""Of a range."""

_PADDING, _FINE_PADDING = 1.25, 1.125
"""The size of a bucket over the least that it serves, at most: what all its rows may cost.

A network over independent rows takes at most as much longer as it has more of them. Kernels that
leave rows out (see `RunsParts`) take less; others, and other targets, do not. Where rows are not
independent, sizes cannot run as several buckets, and work on a row may grow with their number.
"""


@dataclass(frozen=True, slots=True)
class SizeRange:
    """Sizes from the least to the most, both included.

    >>> str(SizeRange.parse("1..32"))
    '1..32'
    """

    least: int
    most: int

    @classmethod
    def parse(cls, text: str) -> SizeRange:
        """The range of `1..32`, or of one size. Raises ValueError for another text."""
        match = _TEXT.fullmatch(text.strip())
        least, most = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not (1 <= least <= most <= MOST_STEP and most - least < _MOST_SIZES):
            raise ValueError(
                f"expected a size from 1, or a range such as 1..32, of at most {_MOST_SIZES} sizes"
            )
        return cls(least, most)

    def __str__(self) -> str:
        return f"{self.least}..{self.most}" if self.is_range else str(self.least)

    def __contains__(self, size: int) -> bool:
        return self.least <= size <= self.most

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.least, self.most + 1))

    def __len__(self) -> int:
        return self.most - self.least + 1

    @property
    def is_range(self) -> bool:
        """Whether there is more than one size."""
        return self.least < self.most

    def buckets(self, *, finely: bool = False) -> tuple[int, ...]:
        """Sizes to compile for, ascending: every size goes to the next one that is not below it.

        Each is at most a quarter (`finely`: an eighth) above the least size that goes there, which
        bounds the padding; among those, it is the one that most powers of two divide, as vectors
        and tiles like it.
        """
        found: list[int] = []
        first = self.least
        while first <= self.most:
            upper = min(self.most, int(first * (_FINE_PADDING if finely else _PADDING)))
            size = upper if upper == self.most else max(range(first, upper + 1), key=_roundness)
            found.append(size)
            first = size + 1
        return tuple(found)


def _roundness(size: int) -> tuple[int, int]:
    """The power of two that divides it; of equals, the larger size serves more."""
    return size & -size, size
