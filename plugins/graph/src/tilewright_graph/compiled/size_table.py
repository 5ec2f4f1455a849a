"""Which sizes run as which buckets: the whole dispatcher of a bucketed network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from tilewright_graph.network.dimension import Dimension
from tilewright_graph.network.size_range import SizeRange
from tilewright_pipeline.context.time_text import milliseconds_text

_CALL_SECONDS = 1e-5
"""What one more run costs besides the network's own time: arrays are taken apart and joined.

Measured: 7 to 13 microseconds; nothing where rows are large, since padding copies those, too.
"""

_GAIN = 0.05
"""What is not the next bucket alone must be faster by so much: times vary."""


@dataclass(frozen=True, slots=True)
class SizesRow:
    """A row of the table: these sizes run as these buckets, one after the other.

    The last one is padded where they hold more rows than there are.

    seconds   of these buckets, as measured when they were compiled
    """

    sizes: SizeRange
    runs: tuple[int, ...]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return {
            "sizes": [self.sizes.least, self.sizes.most],
            "runs": list(self.runs),
            "network_ms": self.seconds * 1e3,
        }


def size_table(dimension: Dimension, seconds: Mapping[int, float]) -> list[SizesRow]:
    """The rows, given the seconds of each bucket by its size.

    A size runs in the next bucket that is not below it, unless it is faster in a larger one, or in
    several. Where rows may depend on each other, it runs in its own.
    """
    rows = _fastest(dimension, seconds) if dimension.independent else ((n, (n,)) for n in seconds)
    table = []
    for runs, group in groupby(rows, key=lambda row: row[1]):
        sizes = [size for size, _ in group]
        total = sum(seconds[bucket] for bucket in runs)
        table.append(SizesRow(SizeRange(sizes[0], sizes[-1]), runs, total))
    return table


def _fastest(
    dimension: Dimension, seconds: Mapping[int, float]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """(size, the buckets that it runs as), by the fastest of the smaller sizes."""
    best: dict[int, tuple[float, tuple[int, ...]]] = {}
    buckets = sorted(seconds, reverse=True)
    for size in range(1, dimension.sizes.most + 1):
        plain = min(bucket for bucket in buckets if bucket >= size)
        found: tuple[float, tuple[int, ...]] = (seconds[plain], (plain,))
        for bucket in buckets:
            cost: float = seconds[bucket]
            runs: tuple[int, ...] = (bucket,)
            if bucket < size:
                rest, others = best[size - bucket]
                cost, runs = cost + _CALL_SECONDS + rest, (bucket, *others)
            if cost < found[0] * (1 if found[1] != (plain,) else 1 - _GAIN):
                found = cost, runs
        best[size] = found
        if size in dimension.sizes:
            yield size, found[1]


def table_text(dimension: Dimension, rows: Sequence[SizesRow]) -> str:
    """The table for people, in columns."""
    lines = [(dimension.name, "runs as", "ms")]
    lines += [
        (str(row.sizes), " + ".join(map(str, row.runs)), milliseconds_text(row.seconds))
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
