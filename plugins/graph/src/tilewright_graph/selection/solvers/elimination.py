"""The order in which a dynamic program takes nodes away."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EliminationOrder:
    """Nodes in order; `states` is the size of the largest table that the order needs."""

    nodes: tuple[int, ...]
    states: int


def elimination_order(
    neighbours: Mapping[int, Collection[int]], sizes: Mapping[int, int]
) -> EliminationOrder:
    """The node whose table would be smallest is always next (min-degree, weighted by candidates).

    Taking a node away joins its neighbours; a tree needs tables of two nodes only. Kjaerulff,
    "Triangulation of graphs: algorithms giving small total state space", 1990.
    """
    beside = {node: set(others) for node, others in neighbours.items()}

    def states(node: int) -> int:
        return sizes[node] * math.prod(sizes[other] for other in beside[node])

    heap = [(states(node), node) for node in beside]
    heapq.heapify(heap)
    order, largest = [], 1
    while heap:
        size, node = heapq.heappop(heap)
        if node not in beside or size != states(node):
            continue  # the entry is of earlier neighbours
        order.append(node)
        largest = max(largest, size)
        others = beside.pop(node)
        for other in others:
            beside[other] |= others
            beside[other] -= {other, node}
            heapq.heappush(heap, (states(other), other))
    return EliminationOrder(tuple(order), largest)
