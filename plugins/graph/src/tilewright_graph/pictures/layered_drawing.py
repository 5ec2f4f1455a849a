"""Where the nodes and edges of a graph stand in a drawing of layers, from the top down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_SWEEPS = 24

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Drawing:
    """Centres of nodes and bends of edges, in the units of the sizes given.

    bends   of each edge, by its place: where it passes the layers between its ends
    """

    width: float
    height: float
    centres: tuple[Point, ...]
    bends: tuple[tuple[Point, ...], ...]


def draw_layers(
    count: int,
    edges: Sequence[tuple[int, int]],
    *,
    node_width: float,
    edge_width: float,
    layer_height: float,
) -> Drawing:
    """Layers by longest path, order by barycentres, places as near to neighbours as room permits.

    The method is that of Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of
    Hierarchical System Structures", 1981. Edges lead from smaller to greater nodes; where one
    passes a layer, it has a place of its own there.
    """
    layer = _layers(count, edges)
    chains: list[list[int]] = []
    for source, target in edges:
        passed = range(layer[source] + 1, layer[target])
        chains.append([source, *range(len(layer), len(layer) + len(passed)), target])
        layer += passed
    above: dict[int, list[int]] = {node: [] for node in range(len(layer))}
    below: dict[int, list[int]] = {node: [] for node in range(len(layer))}
    for chain in chains:
        for first, second in pairwise(chain):
            below[first].append(second)
            above[second].append(first)
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node, row in enumerate(layer):
        rows[row].append(node)
    _order(rows, above, below)
    widths = [node_width if node < count else edge_width for node in range(len(layer))]
    x = _places(rows, widths, above, below)
    left = min((x[node] - widths[node] / 2 for node in x), default=0.0)
    right = max((x[node] + widths[node] / 2 for node in x), default=0.0)
    points = [(x[node] - left, (row + 0.5) * layer_height) for node, row in enumerate(layer)]
    return Drawing(
        right - left,
        len(rows) * layer_height,
        tuple(points[:count]),
        tuple(tuple(points[node] for node in chain[1:-1]) for chain in chains),
    )


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The longest way to each node; what nothing leads to stands just above its readers."""
    layer = [0] * count
    for source, target in sorted(edges):
        layer[target] = max(layer[target], layer[source] + 1)
    readers: dict[int, list[int]] = {}
    for source, target in edges:
        readers.setdefault(source, []).append(target)
    for source in set(readers) - {target for _, target in edges}:
        layer[source] = min(layer[target] for target in readers[source]) - 1
    return layer


def _order(
    rows: list[list[int]], above: Mapping[int, list[int]], below: Mapping[int, list[int]]
) -> None:
    """Sort each row by the mean place of its neighbours in the row before, then after, in turn."""
    for sweep in range(_SWEEPS):
        neighbours, walk = (above, rows) if sweep % 2 == 0 else (below, rows[::-1])
        for fixed, row in pairwise(walk):
            place = {node: position for position, node in enumerate(fixed)}
            own = {node: position for position, node in enumerate(row)}
            row.sort(key=lambda node: _mean([place[n] for n in neighbours[node]], own[node]))


def _places(
    rows: Sequence[Sequence[int]],
    widths: Sequence[float],
    above: Mapping[int, list[int]],
    below: Mapping[int, list[int]],
) -> dict[int, float]:
    """Centres along the rows: near the neighbours' mean, order kept, nothing overlapping."""
    x: dict[int, float] = {}
    for row in rows:
        x.update(_spread(row, widths, dict.fromkeys(row, 0.0)))
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            beside = above if sweep % 2 == 0 else below
            wished = {node: _mean([x[n] for n in beside[node]], x[node]) for node in row}
            x.update(_spread(row, widths, wished))
    return x


def _spread(
    row: Sequence[int], widths: Sequence[float], wished: Mapping[int, float]
) -> dict[int, float]:
    """The places nearest to those wished for (least squares) at which the row does not overlap.

    Without the room each needs, that is isotonic regression: pool adjacent violators.
    """
    offsets, end = {}, 0.0
    for node in row:
        offsets[node] = end + widths[node] / 2
        end += widths[node]
    pools: list[tuple[float, list[int]]] = []
    for node in row:
        mean, members = wished[node] - offsets[node], [node]
        while pools and pools[-1][0] > mean:
            other, earlier = pools.pop()
            total = len(earlier) + len(members)
            mean = (other * len(earlier) + mean * len(members)) / total
            members = earlier + members
        pools.append((mean, members))
    return {node: mean + offsets[node] for mean, members in pools for node in members}


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
