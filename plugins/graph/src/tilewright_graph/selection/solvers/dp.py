"""Graph tuner `dp`: a dynamic program over an elimination order of its own finding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from pydantic import Field

from tilewright.options import Options
from tilewright_graph.selection.graph_problem import GraphProblem, InfeasibleProblemError, Solution
from tilewright_graph.selection.solvers.cost_graph import CostGraph
from tilewright_graph.selection.solvers.dual_bound import DualBound
from tilewright_graph.selection.solvers.elimination import elimination_order
from tilewright_graph.selection.solvers.feasible import feasible_choice
from tilewright_graph.selection.solvers.local_search import improve
from tilewright_graph.selection.solvers.reductions import remove_dominated

_SWEEPS = 20
"""Of the dual bound before tables are split, and at most of improvements afterwards."""


class DpOptions(Options):
    """Options of `dp`."""

    max_num_states: int = Field(
        default=200_000,
        description="States of the largest table; wider networks are bounded instead of solved.",
    )


class DpTuner:
    """Exact where no table grows over `max_num_states`: trees, and networks of small width.

    Bucket elimination (Dechter, 1999). Where tables would be too large they are split, which gives
    a bound and a good choice instead of the best (mini-buckets: Dechter & Rish, 2003), after the
    costs were shifted to where a small table sees them.
    """

    def __init__(self, options: DpOptions, _host: Any = None) -> None:
        self._limit = options.max_num_states

    def solve(self, problem: GraphProblem) -> Solution:
        graph = CostGraph(problem)
        remove_dominated(graph)
        # a table needs no axis for them, and an array has 64 axes at most
        single = [node for node, vector in graph.vectors.items() if len(vector) == 1]
        decided = {node: graph.fix(node, 0) for node in single}
        sizes = {node: len(vector) for node, vector in graph.vectors.items()}
        order = elimination_order(graph.beside, sizes)
        if order.states <= self._limit:
            buckets = _Buckets(graph, order.nodes, self._limit)
            choice = buckets.choice()
            if choice is None:  # tables that were not split forget nothing
                raise InfeasibleProblemError("every choice holds a forbidden pair", order.nodes)
            return problem.solution({**decided, **choice}, buckets.bound, "")
        dual = DualBound(graph)
        for _ in range(_SWEEPS):
            dual.sweep()
        buckets = _Buckets(dual.graph(), order.nodes, self._limit)
        choice = improve(graph, buckets.choice() or feasible_choice(graph), _SWEEPS)
        note = f"a table of {order.states:.1g} states is over max_num_states={self._limit}"
        return problem.solution({**decided, **choice}, max(buckets.bound, dual.value), note)


class _Table(NamedTuple):
    """Seconds by the places of some nodes, in elimination order."""

    nodes: tuple[int, ...]
    seconds: np.ndarray


class _Buckets:
    """All tables by the first of their nodes to go; `bound` is exact where none was split."""

    def __init__(self, graph: CostGraph, order: Sequence[int], limit: int) -> None:
        self._graph = graph
        self._order = order
        self._limit = limit
        self._rank = {node: rank for rank, node in enumerate(order)}
        self._tables = {node: [_Table((node,), graph.vectors[node])] for node in order}
        self.bound = graph.constant
        for node in order:
            for other, matrix in graph.beside[node].items():
                if self._rank[node] < self._rank[other]:
                    self._tables[node].append(_Table((node, other), matrix))
        for node in order:
            for part in self._split(self._tables[node]):
                self._send(self._joined(part))

    def choice(self) -> dict[int, int] | None:
        """The best pick of each node given those eliminated later; None at a forbidden pair."""
        places: dict[int, int] = {}
        for node in reversed(self._order):
            costs = np.zeros(len(self._graph.vectors[node]))
            for table in self._tables[node]:
                later: tuple[Any, ...] = tuple(places[other] for other in table.nodes[1:])
                costs = costs + table.seconds[(..., *later)]
            places[node] = int(costs.argmin())
            if not np.isfinite(costs[places[node]]):
                return None
        return self._graph.choice(places)

    def _split(self, tables: Sequence[_Table]) -> list[list[_Table]]:
        """Parts whose sum is not over the limit, the widest tables first; one part if it can be."""
        parts: list[list[_Table]] = []
        for table in sorted(tables, key=lambda table: -table.seconds.size):
            fitting = (part for part in parts if self._states([*part, table]) <= self._limit)
            part = next(fitting, None)
            if part is None:
                parts.append([table])
            else:
                part.append(table)
        return parts

    def _states(self, tables: Sequence[_Table]) -> int:
        nodes = {node for table in tables for node in table.nodes}
        return math.prod(len(self._graph.vectors[node]) for node in nodes)

    def _joined(self, tables: Sequence[_Table]) -> _Table:
        """The sum of tables over all of their nodes."""
        nodes = tuple(
            sorted({n for table in tables for n in table.nodes}, key=self._rank.__getitem__)
        )
        total = np.zeros(tuple(len(self._graph.vectors[node]) for node in nodes))
        for table in tables:
            total += table.seconds[
                tuple(slice(None) if node in table.nodes else None for node in nodes)
            ]
        return _Table(nodes, total)

    def _send(self, table: _Table) -> None:
        """The table that remains when its first node has taken its best."""
        seconds, nodes = table.seconds.min(axis=0), table.nodes[1:]
        if nodes:
            self._tables[nodes[0]].append(_Table(nodes, seconds))
        else:
            self.bound += float(seconds)
