"""A choice whose measured error keeps to a bound: which kernels are computed in lower precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import hypot, inf, isfinite, sqrt
from typing import Any

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright_graph.selection.candidates import Candidate
from tilewright_graph.selection.graph_problem import GraphProblem, Solution
from tilewright_graph.selection.layout_problem import LayoutProblem
from tilewright_tensor.layouts.layout import Layout

Configs = Mapping[str, ConfigEntity]
"""By the kernels' keys."""

Errors = Mapping[str, Mapping[str, float]]
"""By the kernels' keys, then by `rounding`. A kernel that is not named adds nothing; of one that
is, a rounding that is not named cannot be, and products in float32 add nothing."""

_EXACT = "float32"
_ROUNDS = 5
_NEAR = 0.95
"""Of the bound; a measured error, or a further round, that comes so near to it is the last."""


def rounding(layouts: Layouts, precision: str) -> str:
    """How a kernel rounds: precision of its products, and what its output is stored as.

    As in `bfloat16:float32`; empty where products are as exact as the task says.
    """
    stored = Layout.parse(layouts.outputs[0]).dtype
    return "" if precision == _EXACT else f"{precision}:{stored or _EXACT}"


@dataclass(frozen=True, slots=True)
class KeptError:
    """How a choice keeps to a bound. Errors are relative, as `verify` measures them.

    most       what was allowed
    exact      with every kernel in float32
    predicted  of the choice: the root of the sum of the squares of `exact` and of what its kernels
               add alone
    measured   of the choice; above `most` only where `exact` is, which then is the choice
    alone      what a kernel adds while the others are in float32, as far as it is finite
    """

    most: float
    exact: float
    predicted: float
    measured: float
    alone: Errors

    @property
    def holds(self) -> bool:
        """Whether the measured error is within the bound."""
        return self.measured <= self.most

    def to_json(self) -> dict[str, Any]:
        """What run.json says of it; None says that an answer was not finite."""
        figures = {"float32": self.exact, "predicted": self.predicted, "measured": self.measured}
        finite = {name: error if isfinite(error) else None for name, error in figures.items()}
        return {"max_error": self.most, **finite}


class ErrorBound:
    """Solves the problems of one network within a bound that holds by measurement.

    What a kernel adds to the error is measured for each way of rounding, while all others are in
    float32. As a model for many, the squares add up: one more row of the integer program. What the
    program chooses is measured, and its bound is moved in proportion, until the error is near.
    """

    def __init__(self, most: float, measure: Callable[[Configs], float], host: PluginHost) -> None:
        """`measure` tells the error of the network's answers, infinite where it cannot be."""
        self._most = most
        self._measure = measure
        self._host = host
        self._known: dict[tuple[ConfigEntity, ...], float] = {}
        self._alone: dict[str, dict[str, float]] = {}
        self._room: float | None = None  # that was found last: the next problem is much like it

    def solve(
        self, problem: LayoutProblem, solver: Callable[[GraphProblem], Solution]
    ) -> tuple[Solution, KeptError]:
        """The fastest choice found within the bound; float32 everywhere where none keeps to it."""
        lower = self._lower(problem)
        nothing: Errors = {key: {} for key in lower}
        best = solver(self._bounded(problem, nothing, 0.0))
        exact = best_error = self._error(problem.configs(best.choice))
        alone = self._sensitivities(lower, problem.configs(best.choice), exact)
        # Where the choice of so much room is known to keep to the bound, and where it is not to.
        least, greatest = 0.0, inf
        everything = hypot(*(max(own.values(), default=0.0) for own in alone.values()))
        room = everything if self._room is None else self._room
        for _ in range(_ROUNDS if exact <= self._most else 0):
            bounded = self._bounded(problem, alone, room)
            solution = solver(bounded)
            added = bounded.error(solution.choice)
            measured = self._error(problem.configs(solution.choice))
            if measured > self._most:
                greatest, room = added, added * self._most / measured
            else:
                if solution.cost <= best.cost:
                    best, best_error = solution, measured
                self._room = room
                if greatest == inf or measured >= _NEAR * self._most:
                    break
                least, room = room, room * self._most / measured
            if least >= _NEAR * greatest:
                break
            if not least < room < greatest:
                room = sqrt(least * greatest) or greatest / 2
        added = self._bounded(problem, alone, inf).error(best.choice)
        return best, KeptError(self._most, exact, hypot(exact, added), best_error, alone)

    def _lower(self, problem: LayoutProblem) -> dict[str, dict[str, Candidate]]:
        """Of kernels that may be in float32, the fastest candidate of every other rounding."""
        found = {}
        for key, own in zip(problem.keys, problem.kernels, strict=True):
            fastest: dict[str, Candidate] = {}
            for candidate in sorted(own, key=lambda one: one.seconds):
                fastest.setdefault(self._rounding(candidate), candidate)
            if fastest.pop("", None) is not None:
                found[key] = fastest
        return found

    def _sensitivities(
        self, lower: Mapping[str, Mapping[str, Candidate]], exact: Configs, base: float
    ) -> dict[str, dict[str, float]]:
        """What each kernel adds alone; roundings with which there is no finite answer left out."""
        for key, own in lower.items():
            known = self._alone.setdefault(key, {})
            for how, candidate in own.items():
                if how not in known:
                    error = self._error({**exact, key: candidate.config})
                    known[how] = sqrt(max(error**2 - base**2, 0.0))
        return {
            key: {how: error for how, error in own.items() if isfinite(error)}
            for key, own in self._alone.items()
        }

    def _bounded(self, problem: LayoutProblem, errors: Errors, room: float) -> GraphProblem:
        """The problem with what its candidates add, at most so much together."""

        def added(key: str, candidate: Candidate) -> float:
            how = self._rounding(candidate)
            return errors[key].get(how, inf) if how and key in errors else 0.0

        given = problem.options[: len(problem.options) - len(problem.keys)]
        of_given = [(0.0,) * len(own) for own in given]
        of_kernels = [
            tuple(added(key, candidate) for candidate in own)
            for key, own in zip(problem.keys, problem.kernels, strict=True)
        ]
        all_errors = (*of_given, *of_kernels)
        return replace(problem.problem, errors=all_errors, max_error=room)

    def _rounding(self, candidate: Candidate) -> str:
        precision = self._host.strategy(candidate.config.strategy).precision
        return rounding(candidate.layouts, precision)

    def _error(self, configs: Configs) -> float:
        """Measured once for the same configs."""
        which = tuple(configs[key] for key in sorted(configs))
        if which not in self._known:
            self._known[which] = self._measure(configs)
        return self._known[which]
