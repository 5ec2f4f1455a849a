"""Exact simplifications: dominated candidates, and nodes with at most two neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright_graph.selection.graph_problem import InfeasibleProblemError
from tilewright_graph.selection.solvers.cost_graph import CostGraph


@dataclass(frozen=True, slots=True)
class Reduced:
    """An eliminated node: its best pick for every pick of its neighbours.

    best          index into `picks`, by the neighbours' places
    beside        (neighbour, its picks) for each axis of `best`
    """

    node: int
    picks: np.ndarray
    best: np.ndarray
    beside: tuple[tuple[int, np.ndarray], ...]

    @classmethod
    def decided(cls, node: int, pick: int) -> Reduced:
        """A node whose pick depends on no other."""
        return cls(node, np.array([pick]), np.array(0), ())


def remove_dominated(graph: CostGraph) -> None:
    """Drop each candidate that another of its node beats for every choice of the neighbours.

    The other must add no more to the network's error.

    Goldstein, "Efficient rotamer elimination applied to protein side-chains", 1994.
    """
    for node in graph.vectors:
        vector, shares = graph.vectors[node], graph.shares[node]
        if len(vector) == 1:
            continue
        # loss[p, q]: at least so much is lost by p against q.
        loss = vector[:, None] - vector[None, :]
        for matrix in graph.beside[node].values():
            loss += _difference(matrix).min(axis=2)
        kept = np.ones(len(vector), bool)
        for place in np.argsort(-vector, kind="stable"):
            rivals = kept & (loss[place] >= 0) & (shares <= shares[place])
            rivals[place] = False
            kept[place] = not rivals.any()
        if not kept.all():
            graph.keep(node, kept)


def _difference(matrix: np.ndarray) -> np.ndarray:
    """Row p less row q, place by place; what p may not meet, it cannot lose by."""
    with np.errstate(invalid="ignore"):
        difference = matrix[:, None, :] - matrix[None, :, :]
    return np.where(np.isinf(matrix)[:, None, :], np.inf, difference)


def simplify(graph: CostGraph) -> list[Reduced]:
    """Dominated candidates, then nodes, then what the reductions made dominated.

    Raises InfeasibleProblemError.
    """
    remove_dominated(graph)
    reduced = reduce_exactly(graph)
    graph.make_consistent()
    remove_dominated(graph)
    return reduced


def reduce_exactly(graph: CostGraph) -> list[Reduced]:
    """Take away node after node with none (R0), one (RI) or two (RII) neighbours.

    What a choice of the neighbours costs the node at best is added to them: Scholz & Eckstein,
    "Register allocation for irregular architectures", 2002; Hames & Scholz, 2006. A graph of
    treewidth two (trees, series-parallel graphs, networks with residual links) vanishes. Nodes
    whose candidates add differently to the network's error stay. Raises InfeasibleProblemError.
    """
    reduced = []
    waiting = sorted(graph.vectors, reverse=True)
    while waiting:
        node = waiting.pop()
        if node not in graph.vectors or len(graph.beside[node]) > 2 or not graph.adds_alike(node):
            continue
        neighbours = sorted(graph.beside[node])
        reduced.append(_reduce(graph, node, neighbours))
        waiting += reversed(neighbours)
    return reduced


def _reduce(graph: CostGraph, node: int, neighbours: Sequence[int]) -> Reduced:
    table = graph.vectors[node]
    for axis, neighbour in enumerate(neighbours):  # axes: neighbours in order, the node last
        matrix = graph.beside[node][neighbour].T
        table = table + (matrix[:, None, :] if axis == 0 and len(neighbours) == 2 else matrix)
    best = table.argmin(axis=-1)
    cheapest = np.take_along_axis(table, best[..., None], axis=-1)[..., 0]
    beside = tuple((neighbour, graph.picks[neighbour]) for neighbour in neighbours)
    step = Reduced(node, graph.picks[node], best, beside)
    graph.remove(node)
    if not np.isfinite(cheapest).any():
        raise InfeasibleProblemError(
            f"every choice around node {node} holds a forbidden pair", (node, *neighbours)
        )
    if not neighbours:
        graph.constant += float(cheapest)
    elif len(neighbours) == 1:
        graph.vectors[neighbours[0]] = graph.vectors[neighbours[0]] + cheapest
    else:
        graph.connect(neighbours[0], neighbours[1], cheapest)
    return step


def complete(choice: dict[int, int], reduced: Sequence[Reduced]) -> None:
    """Give every reduced node its best pick given those that are chosen, last reduced first."""
    for step in reversed(reduced):
        places = tuple(int(np.searchsorted(picks, choice[node])) for node, picks in step.beside)
        choice[step.node] = int(step.picks[step.best[places]])
