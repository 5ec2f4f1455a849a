"""A lower bound for what cannot be reduced exactly, by moving costs between nodes and edges."""

from __future__ import annotations

import numpy as np

from tilewright_graph.selection.graph_problem import PROOF_TOLERANCE
from tilewright_graph.selection.solvers.cost_graph import CostGraph

_STEP = 1e-7
"""A sweep that raises the bound by less, relative to the cost, is the last."""


class DualBound:
    """The local polytope's dual, raised sweep by sweep.

    What nodes and edges cost is shifted between them such that no choice changes its total, and
    such that the sum of each one's cheapest entry, which no choice beats, grows: sequential
    reweighted message passing (Kolmogorov, "A new look at reweighted message passing", 2015; on
    pairs it is TRW-S, 2006). The bound never falls; its limit may stay below the local polytope's.

    value     the bound in seconds
    """

    def __init__(self, graph: CostGraph) -> None:
        """Raises nothing on a consistent graph; candidates without a partner must be gone."""
        self._graph = graph
        self._nodes = sorted(graph.vectors)
        place = {node: index for index, node in enumerate(self._nodes)}
        width = max((len(vector) for vector in graph.vectors.values()), default=1)
        self._sizes = [len(graph.vectors[node]) for node in self._nodes]
        # Places beyond a node's candidates are infinite, as forbidden pairs are.
        self._costs = np.full((len(self._nodes), width), np.inf)
        for index, node in enumerate(self._nodes):
            self._costs[index, : self._sizes[index]] = graph.vectors[node]
        self._pairs = [
            (node, other)
            for node in self._nodes
            for other in sorted(graph.beside[node])
            if node < other
        ]
        self._edges = np.full((len(self._pairs), width, width), np.inf)
        into: list[list[int]] = [[] for _ in self._nodes]
        outof: list[list[int]] = [[] for _ in self._nodes]
        # Most candidates of any neighbour on each side: beyond, there is nothing to look at.
        self._widths = [[1, 1] for _ in self._nodes]
        for edge, (first, second) in enumerate(self._pairs):
            matrix = graph.beside[first][second]
            self._edges[edge, : matrix.shape[0], : matrix.shape[1]] = matrix
            source, target = place[first], place[second]
            outof[source].append(edge)
            into[target].append(edge)
            self._widths[target][0] = max(self._widths[target][0], matrix.shape[0])
            self._widths[source][1] = max(self._widths[source][1], matrix.shape[1])
        self._into = [np.array(edges, int) for edges in into]
        self._outof = [slice(edges[0], edges[-1] + 1) if edges else slice(0, 0) for edges in outof]
        self.value = self._sum()

    def sweep(self) -> float:
        """Forward and back through the nodes once; gives the bound."""
        for index in range(len(self._nodes)):
            self._pass_on(index, forward=True)
        for index in reversed(range(len(self._nodes))):
            self._pass_on(index, forward=False)
        self.value = max(self.value, self._sum())
        return self.value

    def raise_to(self, cost: float, sweeps: int) -> None:
        """Sweep until the bound is proof of a choice's cost, or hardly moves, or so many times."""
        for _ in range(sweeps):
            before = self.value
            if before >= cost * (1 - PROOF_TOLERANCE) or self.sweep() - before < _STEP * cost:
                break

    def _pass_on(self, index: int, *, forward: bool) -> None:
        """Gather at a node what its edges allow, and hand it to those on one side."""
        size, (width_into, width_outof) = self._sizes[index], self._widths[index]
        into = self._into[index], slice(width_into), slice(size)
        outof = self._outof[index], slice(size), slice(width_outof)
        before, after = self._edges[into], self._edges[outof]
        left, right = before.min(axis=1), after.min(axis=2)
        gathered = self._costs[index, :size] + left.sum(axis=0) + right.sum(axis=0)
        share = 1 / max(len(left), len(right), 1)
        given = len(right) if forward else len(left)
        handed = gathered * share
        left_given, right_given = (0.0, handed) if forward else (handed, 0.0)
        self._edges[into] = before - (left - left_given)[:, None, :]
        after -= (right - right_given)[:, :, None]
        self._costs[index, :size] = gathered - handed * given

    def _sum(self) -> float:
        nodes, edges = self._costs.min(axis=1), self._edges.min(axis=(1, 2))
        return self._graph.constant + float(nodes.sum()) + float(edges.sum())

    def without_worse_than(self, cost: float) -> CostGraph:
        """The graph with its own costs, less candidates that only dearer choices can hold.

        What a candidate loses at its node and its edges, against the best there, comes on top of
        the bound (reduced cost fixing).
        """
        left, shifted = self._graph.copy(), self.graph()
        spare = (cost - self._sum()) + PROOF_TOLERANCE * abs(cost)
        for node, vector in shifted.vectors.items():
            through, best = vector, vector.min()
            for matrix in shifted.beside[node].values():
                through, best = through + matrix.min(axis=1), best + matrix.min()
            left.keep(node, through - best <= spare)
        left.make_consistent()
        return left

    def graph(self) -> CostGraph:
        """The same problem with its costs as they were shifted."""
        shifted = self._graph.copy()
        for index, node in enumerate(self._nodes):
            shifted.vectors[node] = self._costs[index, : self._sizes[index]].copy()
        for edge, (first, second) in enumerate(self._pairs):
            rows, columns = len(shifted.vectors[first]), len(shifted.vectors[second])
            matrix = self._edges[edge, :rows, :columns].copy()
            shifted.beside[first][second] = matrix
            shifted.beside[second][first] = matrix.T
        return shifted
