"""Which sizes run as which buckets: the whole dispatcher of a bucketed network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, product
from typing import Any

from tilewright_graph.network.dimension import Dimension
from tilewright_graph.network.dimensions import Dimensions, Sizes
from tilewright_graph.network.size_range import SizeRange
from tilewright_pipeline.context.time_text import milliseconds_text

_CALL_SECONDS = 2.5e-5
"""What one more run costs besides the network's own time: arrays are taken apart and joined.

Measured: 7 to 13 microseconds, up to 45 where each run is padded along a second dimension; nothing
where rows are large, since padding copies those, too.
"""

_GAIN = 0.05
"""What is not the next bucket alone must be faster by so much: times vary."""


@dataclass(frozen=True, slots=True)
class SizesRow:
    """A row of the table: these sizes run as these buckets, one after the other.

    The last one is padded where they hold more rows than there are.

    sizes     a range of each dimension
    seconds   of these buckets, as measured when they were compiled
    """

    sizes: tuple[SizeRange, ...]
    runs: tuple[Sizes, ...]
    seconds: float

    def __contains__(self, sizes: Sizes) -> bool:
        return all(size in one for size, one in zip(sizes, self.sizes, strict=True))

    def corners(self) -> Iterator[Sizes]:
        """The least and the largest sizes, in every combination."""
        return product(*({one.least, one.most} for one in self.sizes))

    def to_json(self, dimensions: Dimensions) -> dict[str, Any]:
        return {
            "sizes": dimensions.named([[one.least, one.most] for one in self.sizes]),
            "runs": [dimensions.named(bucket) for bucket in self.runs],
            "network_ms": self.seconds * 1e3,
        }


def size_table(dimensions: Dimensions, seconds: Mapping[Sizes, float]) -> list[SizesRow]:
    """The rows, given the seconds of each bucket.

    A size runs in the next bucket that is not below it in any dimension, unless along one of them
    it is faster in a larger one, or in several. Where rows may depend on each other, it runs in its
    own.
    """
    along = dimensions.along
    divided = dimensions.each[along]
    spans = [
        _served(one, sorted({sizes[at] for sizes in seconds}))
        for at, one in enumerate(dimensions.each)
    ]
    table = []
    for others in product(*(*spans[:along], *spans[along + 1 :])):
        before = tuple(span.most for span in others[:along])
        behind = tuple(span.most for span in others[along:])
        line = {
            sizes[along]: cost
            for sizes, cost in seconds.items()
            if (sizes[:along], sizes[along + 1 :]) == (before, behind)
        }
        rows = _fastest(divided, line) if divided.independent else ((n, (n,)) for n in line)
        for runs, group in groupby(rows, key=lambda row: row[1]):
            sizes = [size for size, _ in group]
            served = (*others[:along], SizeRange(sizes[0], sizes[-1]), *others[along:])
            buckets = tuple((*before, run, *behind) for run in runs)
            table.append(SizesRow(served, buckets, sum(line[run] for run in runs)))
    return table


def _served(dimension: Dimension, buckets: Sequence[int]) -> list[SizeRange]:
    """The sizes for which each bucket is the next one."""
    firsts = [dimension.sizes.least - 1, *buckets]
    return [SizeRange(below + 1, bucket) for below, bucket in pairwise(firsts)]


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


def runs_text(runs: Sequence[Sequence[int]]) -> str:
    """Buckets that run one after the other, as in `4 + 1`, of two dimensions `4x7 + 1x7`."""
    return " + ".join("x".join(map(str, bucket)) for bucket in runs)


def table_text(dimensions: Dimensions, rows: Sequence[SizesRow]) -> str:
    """The table for people, in columns."""
    lines = [(*(one.name for one in dimensions.each), "runs as", "ms")]
    lines += [
        (*map(str, row.sizes), runs_text(row.runs), milliseconds_text(row.seconds)) for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
