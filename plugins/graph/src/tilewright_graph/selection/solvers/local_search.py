"""Improving a whole choice one node at a time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright_graph.selection.solvers.cost_graph import CostGraph


def improve(graph: CostGraph, choice: Mapping[int, int], sweeps: int) -> dict[int, int]:
    """The choice after sweeps in which each node takes the best candidate given its neighbours.

    Ends early where no change of a single node improves it; never gets worse, and a permitted
    choice stays permitted (iterated conditional modes: Besag, "On the statistical analysis of
    dirty pictures", 1986).
    """
    places = {n: int(np.searchsorted(picks, choice[n])) for n, picks in graph.picks.items()}
    for _ in range(sweeps):
        before = dict(places)
        for node in graph.vectors:
            costs = costs_beside(graph, node, places)
            best = int(costs.argmin())
            if costs[best] < costs[places[node]]:
                places[node] = best
        if places == before:
            break
    return graph.choice(places)


def costs_beside(graph: CostGraph, node: int, places: Mapping[int, int]) -> np.ndarray:
    """Seconds of each candidate of a node given its neighbours that have a pick."""
    costs = graph.vectors[node].copy()
    for neighbour, matrix in graph.beside[node].items():
        if neighbour in places:
            costs += matrix[:, places[neighbour]]
    return costs
