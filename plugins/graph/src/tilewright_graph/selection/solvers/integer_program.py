"""The choice as a mixed integer program over the local polytope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright_graph.selection.solvers.cost_graph import CostGraph

_DIGITS = 12
"""Rows of a matrix that agree to so many digits of its largest entry are one row."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """What a choice costs by pairs of groups of candidates of two nodes.

    rows, columns   group of each candidate of the first node, of the second
    pairs           (row group, column group, seconds) of every pair with a variable
    complete        the chosen pair must have a variable; otherwise one without costs nothing
    """

    first: int
    second: int
    rows: np.ndarray
    columns: np.ndarray
    pairs: Sequence[tuple[int, int, float]]
    complete: bool


@dataclass(frozen=True, slots=True)
class IntegerProgram:
    """Minimise the costs of candidates, one a node, and those of pairs.

    A candidate's binary variable is 1 where it is chosen. The variables of a row group's pairs sum
    to at most those of its candidates (exactly, where the pairing is complete), and so for columns.
    This is the local polytope (Schlesinger, 1976; Wainwright & Jordan, 2008) with a variable only
    for pairs that cost less than the rest of their row and column: a few for each edge, instead of
    one for each pair of candidates, since transforms depend on layouts alone. Where a pair is
    forbidden, every permitted one has a variable.

    shares   of the chosen candidates may come to `room`: the network's error, see `CostGraph`; of
             the nodes whose candidates differ in them
    """

    costs: dict[int, np.ndarray]
    shares: dict[int, np.ndarray]
    room: float
    pairings: tuple[Pairing, ...]

    @classmethod
    def of(cls, graph: CostGraph) -> IntegerProgram:
        """The program whose least cost, and `graph.constant`, is that of the best choice."""
        costs = dict(graph.vectors)
        pairings = []
        for first, beside in graph.beside.items():
            for second in sorted(other for other in beside if other > first):
                matrix = beside[second]
                complete = bool(np.isinf(matrix).any())
                if not complete:  # the most of a row, then of a column, is paid with the candidate
                    most = matrix.max(axis=1)
                    costs[first] = costs[first] + most
                    matrix = matrix - most[:, None]
                    most = matrix.max(axis=0)
                    costs[second] = costs[second] + most
                    matrix = matrix - most
                pairing = _pairing(first, second, matrix, complete=complete)
                if pairing.pairs:
                    pairings.append(pairing)
        alike = [node for node in costs if graph.adds_alike(node)]
        room = graph.room - sum(float(graph.shares[node][0]) for node in alike)
        shares = {node: own for node, own in graph.shares.items() if node not in alike}
        return cls(costs, shares, room, tuple(pairings))


def _pairing(first: int, second: int, matrix: np.ndarray, *, complete: bool) -> Pairing:
    finite = np.isfinite(matrix)
    largest = np.abs(matrix[finite]).max() or 1.0
    rounded = np.round(matrix / largest, _DIGITS) + 0.0  # no negative zeros
    rows, columns = _groups(rounded), _groups(rounded.T)
    kept = finite if complete else rounded < 0
    pairs = {(int(rows[p]), int(columns[q])): float(matrix[p, q]) for p, q in np.argwhere(kept)}
    triples = tuple((row, column, seconds) for (row, column), seconds in pairs.items())
    return Pairing(first, second, rows, columns, triples, complete)


def _groups(rows: np.ndarray) -> np.ndarray:
    """A number for each row, equal for equal rows."""
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows])
