"""The most similar of thousands of workloads, without a comparison with each."""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Hashable, Sequence
from math import log2
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright_records.similarity import kind, similarity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tilewright.vocabulary.workload import Workload

_ROUNDING = 1e-9


class SimilarWorkloads:
    """Workloads by their kind; of each the extents as one array.

    >>> SimilarWorkloads(workloads).most_similar(wanted, 6)  # places of six, or fewer
    """

    def __init__(self, workloads: Sequence[Workload]) -> None:
        self._workloads = workloads
        groups: dict[Hashable, list[int]] = defaultdict(list)
        for place, workload in enumerate(workloads):
            groups[kind(workload)].append(place)
        self._groups: dict[Hashable, tuple[list[int], NDArray[Any]]] = {
            which: (places, np.array([_extents(workloads[place]) for place in places]))
            for which, places in groups.items()
        }

    def most_similar(self, wanted: Workload, count: int) -> list[int]:
        """The places of so many, the most similar first, and of equally similar ones the first.

        Fewer where that many have no similarity at all.
        """
        group = self._groups.get(kind(wanted))
        if group is None:
            return []
        places, extents = group
        apart = np.abs(extents - _extents(wanted)).sum(axis=1)
        found: list[tuple[float, int]] = []
        for row in np.argsort(apart, kind="stable"):
            # By their extents alone no other is as similar: attributes only take from it.
            if len(found) == count and 1 / (1 + apart[row]) < -found[-1][0] - _ROUNDING:
                break
            alike = similarity(wanted, self._workloads[places[row]])
            insort(found, (-alike, places[row]))
            del found[count:]
        return [place for _, place in found]


def _extents(workload: Workload) -> list[float]:
    return [log2(max(1, extent)) for spec in workload.anchor.inputs for extent in spec.shape]
