"""A problem as arrays that solvers may take apart."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from math import inf

import numpy as np

from tilewright_graph.selection.graph_problem import (
    PROOF_TOLERANCE,
    GraphProblem,
    InfeasibleProblemError,
)


class CostGraph:
    """The nodes, candidates and costs that a solver has not decided yet.

    A forbidden pair is an infinite entry: sums keep it infinite, and it never becomes a cost.

    vectors    node -> seconds of its candidates, in the order of `picks`
    beside     node -> neighbour -> seconds by (node's candidate, neighbour's); both directions
               are views of one array
    picks      node -> the problem's index of each candidate left
    shares     node -> what each candidate left adds to the square of the network's error, as shares
               of the square that the problem allows; all 0 where it asks nothing of errors
    constant   seconds that every choice pays, of nodes that were taken away
    room       what the shares of the nodes left may come to; a little above 1 at first
    """

    def __init__(self, problem: GraphProblem) -> None:
        """All of a problem but the candidates that stand in no permitted choice.

        Raises InfeasibleProblemError.
        """
        self.vectors = {node: np.array(costs, float) for node, costs in enumerate(problem.costs)}
        self.beside: dict[int, dict[int, np.ndarray]] = {node: {} for node in self.vectors}
        self.picks = {node: np.arange(len(costs)) for node, costs in enumerate(problem.costs)}
        self.shares = _shares(problem)
        self.constant = 0.0
        self.room = (1 + PROOF_TOLERANCE) ** 2
        forbidding: list[int] = []
        for (producer, consumer), rows in problem.edges.items():
            matrix = np.array(rows, dtype=float)
            forbidden = np.isnan(matrix)
            if forbidden.any():
                matrix[forbidden] = np.inf
                forbidding += [producer, consumer]
            self.connect(producer, consumer, matrix)
        self._forbids = bool(forbidding)
        self._drop_beyond_the_room()
        self.make_consistent(forbidding)

    def _drop_beyond_the_room(self) -> None:
        """Drop candidates whose share is too much beside the least that all other nodes add."""
        least = {node: float(shares.min()) for node, shares in self.shares.items()}
        spare = self.room - sum(least.values())
        for node, shares in list(self.shares.items()):
            kept = shares <= spare + least[node]
            if spare < 0 or not kept.any():
                raise InfeasibleProblemError("every choice exceeds max_error", (node,))
            if not kept.all():
                self.keep(node, kept)

    def adds_alike(self, node: int) -> bool:
        """Whether a node adds the same to the network's error, whatever it becomes."""
        return bool(np.ptp(self.shares[node]) == 0.0)

    @property
    def size(self) -> int:
        """Candidates left, over all nodes."""
        return sum(map(len, self.vectors.values()))

    def copy(self) -> CostGraph:
        """Another graph of the same arrays; none is ever written to."""
        other = object.__new__(CostGraph)
        other.vectors, other.picks = dict(self.vectors), dict(self.picks)
        other.beside = {node: dict(beside) for node, beside in self.beside.items()}
        other.shares, other.room = dict(self.shares), self.room
        other.constant, other._forbids = self.constant, self._forbids
        return other

    def relaxed(self, price: float) -> CostGraph:
        """The same without a bound on the error: what exceeds the room costs this much a room.

        No permitted choice costs more in it than here, whatever the price.
        """
        other = self.copy()
        other.vectors = {n: vector + price * self.shares[n] for n, vector in self.vectors.items()}
        other.shares = {node: np.zeros_like(shares) for node, shares in self.shares.items()}
        other.constant -= price * self.room
        return other

    def connect(self, first: int, second: int, matrix: np.ndarray) -> None:
        """Add a matrix between two nodes, to what stands there already."""
        if second in self.beside[first]:
            matrix = self.beside[first][second] + matrix
        self.beside[first][second] = matrix
        self.beside[second][first] = matrix.T

    def remove(self, node: int) -> None:
        """Take a node and its edges away, and with it the least that it adds to the error."""
        for neighbour in self.beside.pop(node):
            del self.beside[neighbour][node]
        self.room -= float(self.shares[node].min())
        del self.vectors[node], self.picks[node], self.shares[node]

    def fix(self, node: int, place: int) -> int:
        """Decide for a node's candidate; its row falls to the neighbours. Gives the pick."""
        pick = int(self.picks[node][place])
        self.constant += float(self.vectors[node][place])
        self.shares[node] = self.shares[node][place : place + 1]
        for neighbour, matrix in self.beside[node].items():
            self.vectors[neighbour] = self.vectors[neighbour] + matrix[place]
        self.remove(node)
        return pick

    def keep(self, node: int, kept: np.ndarray) -> None:
        """Leave a node only the candidates of a mask."""
        self.vectors[node] = self.vectors[node][kept]
        self.picks[node] = self.picks[node][kept]
        self.shares[node] = self.shares[node][kept]
        for neighbour, matrix in self.beside[node].items():
            matrix = matrix[kept]  # noqa: PLW2901
            self.beside[node][neighbour] = matrix
            self.beside[neighbour][node] = matrix.T

    def make_consistent(self, nodes: Iterable[int] | None = None) -> None:
        """Leave each node only candidates with a permitted partner in every neighbour.

        Others stand in no permitted choice (arc consistency: Mackworth, "Consistency in Networks
        of Relations", 1977). Looks at the neighbours of `nodes` first, of all by default. Raises
        InfeasibleProblemError.
        """
        if not self._forbids:
            return
        waiting = deque(dict.fromkeys(self.vectors if nodes is None else nodes))
        queued = set(waiting)
        while waiting:
            node = waiting.popleft()
            queued.discard(node)
            kept = np.isfinite(self.vectors[node])
            by = node
            for neighbour, matrix in self.beside[node].items():
                before = kept.any()
                kept = kept & np.isfinite(matrix).any(axis=1)
                if before and not kept.any():
                    by = neighbour
            if not kept.any():
                raise InfeasibleProblemError(
                    f"node {node} keeps no candidate: beside what node {by} may still be, "
                    "all are forbidden",
                    (node, by),
                )
            if not kept.all():
                self.keep(node, kept)
                waiting.extend(n for n in self.beside[node] if n not in queued)
                queued.update(self.beside[node])

    def bound(self) -> float:
        """Seconds that no choice beats: every node and every edge at its own cheapest."""
        vectors = sum(float(vector.min()) for vector in self.vectors.values())
        matrices = sum(
            float(matrix.min())
            for node, beside in self.beside.items()
            for neighbour, matrix in beside.items()
            if node < neighbour
        )
        return self.constant + vectors + matrices

    def cost(self, choice: Mapping[int, int]) -> float:
        """Seconds of the problem's picks for all nodes left, infinite where it is not permitted."""
        places = {
            node: int(np.searchsorted(picks, choice[node])) for node, picks in self.picks.items()
        }
        if self.share(choice) > self.room:
            return inf
        total = self.constant + sum(float(self.vectors[n][place]) for n, place in places.items())
        for node, beside in self.beside.items():
            for neighbour, matrix in beside.items():
                if node < neighbour:
                    total += float(matrix[places[node], places[neighbour]])
        return total

    def share(self, choice: Mapping[int, int]) -> float:
        """What the problem's picks for all nodes left add to the square of the error."""
        places = ((n, int(np.searchsorted(picks, choice[n]))) for n, picks in self.picks.items())
        return sum(float(self.shares[node][place]) for node, place in places)

    def choice(self, places: Mapping[int, int]) -> dict[int, int]:
        """The problem's picks, by their places among the candidates left."""
        return {node: int(self.picks[node][place]) for node, place in places.items()}


def _shares(problem: GraphProblem) -> dict[int, np.ndarray]:
    """Of each candidate of each node, see `CostGraph`."""
    if not problem.errors:
        return {node: np.zeros(len(costs)) for node, costs in enumerate(problem.costs)}
    with np.errstate(divide="ignore", invalid="ignore"):  # of 0, nothing is all that is allowed
        parts = [np.array(errors) / problem.max_error for errors in problem.errors]
    squares = (np.nan_to_num(part, nan=0.0, posinf=inf) ** 2 for part in parts)
    return dict(enumerate(squares))
