"""Which sizes run as which buckets: the whole dispatcher of a bucketed network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, product
from types import MappingProxyType
from typing import Any, TypeVar

from tilewright_graph.ranges.dimension import Dimension
from tilewright_graph.ranges.dimensions import Dimensions, Sizes
from tilewright_graph.ranges.size_range import SizeRange
from tilewright_pipeline.context.time_text import milliseconds_text

_T = TypeVar("_T")

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

    The last one has fewer rows than it holds, or is padded.

    sizes     a range of each dimension
    seconds   that the largest of them take, by what was measured of the buckets
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


def size_table(
    dimensions: Dimensions,
    seconds: Mapping[Sizes, float],
    least_seconds: Mapping[Sizes, float] = MappingProxyType({}),
) -> list[SizesRow]:
    """The rows, given the seconds of each bucket, and of those that leave rows out, of one with the
    least size of the dimension that is divided: between these, time grows with the rows.

    Sizes run in the next bucket that is not below them in any dimension, unless they are faster in
    a larger one, or, along the one dimension, in several. Where no rows may be added, they run in
    their own.
    """
    along = dimensions.along
    divided, others = dimensions.each[along], _without(dimensions.each, along)
    firsts = divided.sizes.least
    buckets = [
        _Bucket(sizes, sizes[along], cost, firsts, least_seconds.get(sizes, cost))
        for sizes, cost in sorted(seconds.items(), key=lambda one: (-one[0][along], one[0]))
    ]
    spans = [
        _served_sizes(one, {sizes[at] for sizes in seconds})
        for at, one in enumerate(dimensions.each)
    ]
    table = []
    for served in product(*_without(spans, along)):
        next_ones = tuple(span.most for span in served)
        usable = [
            bucket for bucket in buckets if _holds(_without(bucket.sizes, along), next_ones, others)
        ]
        plain = {one.rows: one for one in usable if _without(one.sizes, along) == next_ones}
        best = _fastest(divided, plain, usable)
        for runs, group in groupby(divided.sizes, key=lambda size: best[size][1]):
            sizes = [*group]
            span = SizeRange(sizes[0], sizes[-1])
            row = (*served[:along], span, *served[along:])
            table.append(SizesRow(row, runs, best[span.most][0]))
    return table


@dataclass(frozen=True, slots=True)
class _Bucket:
    """What a run of it takes, by how many rows it has along the dimension that is divided."""

    sizes: Sizes
    rows: int
    seconds: float
    least_rows: int
    least_seconds: float

    def of(self, rows: int) -> float:
        """Of so many, no more than its own."""
        missing = (self.rows - max(rows, self.least_rows)) / max(1, self.rows - self.least_rows)
        return self.seconds - missing * (self.seconds - self.least_seconds)


def _without(each: Sequence[_T], place: int) -> tuple[_T, ...]:
    return (*each[:place], *each[place + 1 :])


def _holds(bucket: Sizes, sizes: Sizes, dimensions: Sequence[Dimension]) -> bool:
    """Whether these sizes of all dimensions but the divided one run in a bucket."""
    return all(
        own >= size if one.padded else own == size
        for own, size, one in zip(bucket, sizes, dimensions, strict=True)
    )


def _served_sizes(dimension: Dimension, buckets: Iterable[int]) -> list[SizeRange]:
    """The sizes for which each bucket is the next one."""
    firsts = [dimension.sizes.least - 1, *sorted({*buckets})]
    return [SizeRange(below + 1, bucket) for below, bucket in pairwise(firsts)]


def _fastest(
    dimension: Dimension, plain: Mapping[int, _Bucket], buckets: Sequence[_Bucket]
) -> Mapping[int, tuple[float, tuple[Sizes, ...]]]:
    """By size: seconds, and the buckets that it runs as, by the fastest of the smaller sizes.

    plain   by their rows, those of which the next one is taken where none is faster for certain
    """
    best: dict[int, tuple[float, tuple[Sizes, ...]]] = {}
    for size in range(1, dimension.sizes.most + 1):
        next_one = plain[min(rows for rows in plain if rows >= size)]
        found: tuple[float, tuple[Sizes, ...]] = (next_one.of(size), (next_one.sizes,))
        for bucket in buckets if dimension.padded else ():
            if bucket.rows < size and not dimension.independent:
                continue
            cost = bucket.of(min(size, bucket.rows))
            runs: tuple[Sizes, ...] = (bucket.sizes,)
            if bucket.rows < size:
                rest, others = best[size - bucket.rows]
                cost, runs = cost + _CALL_SECONDS + rest, (bucket.sizes, *others)
            if cost < found[0] * (1 if found[1] != (next_one.sizes,) else 1 - _GAIN):
                found = cost, runs
        best[size] = found
    return best


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
