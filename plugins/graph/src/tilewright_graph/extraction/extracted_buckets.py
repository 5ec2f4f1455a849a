"""The networks of buckets as kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from tilewright.vocabulary.task_set import TaskSet
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.ranges.dimensions import Dimensions, Sizes


@dataclass(frozen=True)
class ExtractedBuckets:
    """A network at the sizes of each bucket, ascending."""

    dimensions: Dimensions
    networks: Mapping[Sizes, ExtractedNetwork]

    def __iter__(self) -> Iterator[ExtractedNetwork]:
        return iter(self.networks.values())

    def task_set(self) -> TaskSet:
        """The distinct tasks of all buckets."""
        return TaskSet.merged(chain.from_iterable(one.task_set() for one in self))
