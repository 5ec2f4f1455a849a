"""Graph tuner `exhaustive`: every choice is priced; for tests and for very small networks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pydantic import Field

from tilewright.errors import UsageError
from tilewright.options import Options
from tilewright_graph.selection.graph_problem import (
    PROOF_TOLERANCE,
    GraphProblem,
    InfeasibleProblemError,
    Solution,
)


class ExhaustiveOptions(Options):
    """Options of `exhaustive`."""

    max_num_choices: int = Field(default=1_000_000, description="Larger problems are refused.")


class ExhaustiveTuner:
    """The cheapest of all choices, the first of equals. Shares no code with the other tuners."""

    def __init__(self, options: ExhaustiveOptions, _host: Any = None) -> None:
        self._limit = options.max_num_choices

    def solve(self, problem: GraphProblem) -> Solution:
        """Raises UsageError where the choices are too many."""
        sizes = tuple(len(costs) for costs in problem.costs)
        count = math.prod(sizes)
        if count > self._limit:
            raise UsageError(
                f"graph tuner 'exhaustive': about 10^{math.log10(count):.0f} choices, "
                f"more than max_num_choices={self._limit}",
                remedy="choose 'exact', 'dp' or 'pbqp'",
            )
        numbers = np.arange(count)
        picks, stride = [], count
        for size in sizes:
            stride //= size
            picks.append(numbers // stride % size)
        total = np.zeros(count)
        for costs, pick in zip(problem.costs, picks, strict=True):
            total += np.array(costs)[pick]
        for (producer, consumer), rows in problem.edges.items():
            matrix = np.array(rows, dtype=float)  # None becomes nan
            total += matrix[picks[producer], picks[consumer]]
        squares = np.zeros(count)
        for errors, pick in zip(problem.errors, picks, strict=False):
            squares += np.square(errors)[pick]
        total[np.sqrt(squares) > problem.max_error * (1 + PROOF_TOLERANCE)] = np.nan
        if np.isnan(total).all():
            raise InfeasibleProblemError("no choice is permitted")
        best = int(np.nanargmin(total))
        choice = tuple(int(pick[best]) for pick in picks)
        cost = problem.cost(choice)
        assert cost is not None
        return Solution(choice, cost, cost)
