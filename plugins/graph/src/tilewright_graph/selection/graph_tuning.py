"""The choice of one config for each kernel, over the whole network, kept as records."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest
from math import inf
from typing import Any

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.terminal_text import brief
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.record import ErrorBound as RecordedBound
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.task_set import WeightedTask
from tilewright_graph.extraction.extraction import ExtractedNetwork, readable_name
from tilewright_graph.extraction.kernel_node import KernelNode
from tilewright_graph.selection.assembly import Assembly, Call, assemble
from tilewright_graph.selection.candidates import Candidate
from tilewright_graph.selection.cost_table import CostTable
from tilewright_graph.selection.dispatching import Best, Dispatched, dispatch_network, fixed_kernels
from tilewright_graph.selection.effort import Effort
from tilewright_graph.selection.error_bound import ErrorBound, KeptError
from tilewright_graph.selection.graph_problem import (
    GraphProblem,
    GraphTuner,
    InfeasibleProblemError,
    Solution,
)
from tilewright_graph.selection.kept_choice import keep_choice
from tilewright_graph.selection.layout_problem import LayoutProblem, layout_problem
from tilewright_graph.selection.prediction import Prediction, has_failed, predict, recorded_seconds
from tilewright_graph.selection.transform_prices import family
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.measuring.measurement_spent import MeasurementSpent, summed
from tilewright_pipeline.tuning.loop import measure_configs

_USUAL = Effort()
NOTHING_MEASURED: Mapping[str, Any] = MeasurementSpent().report(0.0)
Measurable = tuple[Task, ConfigEntity]

NetworkError = Callable[[Assembly], float]
"""The relative error of a network's answers as an assembly computes them."""


@dataclass(frozen=True, slots=True)
class GraphChoice:
    """A config for each kernel, and its predicted costs.

    configs      by the kernels' keys; `history` has those of history best
    solution     the solver's account, of the last time it was asked
    predicted    of `fallback`, `history_best` and the `choice`
    kept         where the configs come from: `solver`, `history best` where that beats it, or
                 `untuned`, which was faster in turns
    transforms   that the configs make necessary; `history_transforms` those of history best
    possible     distinct transforms that the candidates may need
    priced       how many of them have no record, so that the fitted model answers for them
    solver_seconds  of all times that it was asked together
    measurement  of what was measured on the way, as run.json has it
    precisions   how many kernels have products in each; `history_precisions` by history best
    error        how it keeps to the bound on the network's error, None where there is none
    """

    configs: Mapping[str, ConfigEntity]
    history: Mapping[str, ConfigEntity]
    solution: Solution
    predicted: Mapping[str, Prediction]
    kept: str
    transforms: int
    history_transforms: int
    possible: int
    priced: int
    solver_seconds: float
    measurement: Mapping[str, Any]
    precisions: Mapping[str, int]
    history_precisions: Mapping[str, int]
    error: KeptError | None = None

    def __repr__(self) -> str:
        return f"<GraphChoice of {len(self.configs)} configs by {brief(self.kept)}>"

    def to_json(self) -> dict[str, Any]:
        """What run.json says of it."""
        cost, bound = self.solution.cost, self.solution.bound
        return {
            "cost_ms": cost * 1e3,
            "bound_ms": None if bound is None else bound * 1e3,
            "gap": self.solution.gap,
            "optimal": self.solution.optimal,
            "note": self.solution.note,
            "kept": self.kept,
            "solver_seconds": self.solver_seconds,
            "transforms": self.transforms,
            "transforms_history_best": self.history_transforms,
            "transforms_measured": self.possible - self.priced,
            "transforms_priced": self.priced,
            "predicted_ms": {name: p.seconds * 1e3 for name, p in self.predicted.items()},
            "precisions": dict(self.precisions),
            "precisions_history_best": dict(self.history_precisions),
            **({} if self.error is None else {"error": self.error.to_json()}),
        }


def tune_graph(
    extracted: ExtractedNetwork,
    tuner: GraphTuner,
    context: RunContext,
    effort: Effort = _USUAL,
    network_error: NetworkError | None = None,
) -> GraphChoice:
    """The tuner's choice, or history best where that beats it; kept as records.

    First the transforms that the candidates may need are measured, as far as the budget goes, those
    counted that have a record; the fitted model prices the rest. What then stands in the choice, or
    in history best's, without a record is measured and the choice is made again, until both rest on
    records alone, or no more can be had. A kernel for which a dispatch context answers that the
    caller has entered is fixed: the rest is chosen around it, and its config is not recorded as
    chosen.

    With `max_error`, which needs `network_error` and a tuner with the capability `max-error`, the
    choice is the fastest whose measured error is within it, and history best is not considered.
    """
    return _GraphTuning(extracted, tuner, context, effort, network_error).tune()


def precisions_of(configs: Iterable[ConfigEntity], host: PluginHost) -> dict[str, int]:
    """How many kernels have products in each precision."""
    return dict(Counter(host.strategy(one.strategy).precision for one in configs))


def without_record(calls: Iterable[Call], context: RunContext) -> list[Measurable]:
    """What of the calls no record answers for, nor a failure."""
    asked = dict.fromkeys((call.task, call.config) for call in calls)
    unknown = [pair for pair in asked if recorded_seconds(*pair, context) is None]
    return [pair for pair in unknown if not has_failed(*pair, context)]


def measure_pairs(pairs: Iterable[Measurable], context: RunContext) -> Mapping[str, Any]:
    """Measure exactly these; what run.json says of that."""
    named = [(WeightedTask(task, name=readable_name(task.workload)), c) for task, c in pairs]
    return measure_configs(named, context).measurement if named else NOTHING_MEASURED


class _GraphTuning:
    def __init__(
        self,
        extracted: ExtractedNetwork,
        tuner: GraphTuner,
        context: RunContext,
        effort: Effort,
        network_error: NetworkError | None,
    ) -> None:
        self._extracted = extracted
        self._tuner = tuner
        self._context = context
        self._effort = effort
        self._table = CostTable(context, effort.accuracy, effort.max_sch_num)
        self._tables = [self._table]
        self._fixed = fixed_kernels(extracted, context, effort.accuracy)
        self._bound: ErrorBound | None = None
        if effort.max_error is not None:
            assert network_error is not None, "without it, nothing tells the error"
            self._network_error = network_error
            self._bound = ErrorBound(effort.max_error, self._error_by, context.host)
            exact = replace(context, host=context.host.at_precision("float32"))
            self._tables.append(CostTable(exact, effort.accuracy, effort.max_sch_num))
        self._possible: dict[Task, None] = {}
        self._tried: set[Measurable] = set()
        self._solver_seconds = 0.0
        self._measurement = NOTHING_MEASURED

    def tune(self) -> GraphChoice:
        while True:
            problem = self._problem()
            if self._measure(self._affordable()):
                continue
            solution, error = self._solve(problem)
            configs = problem.configs(solution.choice)
            assembly = self._assemble(configs)
            history = self._dispatch("history")
            calls = (*assembly.calls, *history.assembly.calls)
            if not self._measure(without_record(calls, self._context)):
                break
        predicted = {
            "fallback": self._dispatch("fallback").prediction,
            "history_best": history.prediction,
            "choice": predict(assembly.calls, self._context),
        }
        kept = "solver"
        if error is None and predicted["choice"].beaten_by(predicted["history_best"]):
            kept, configs, assembly = "history best", history.configs, history.assembly
        choice = GraphChoice(
            configs,
            history.configs,
            solution,
            predicted,
            kept,
            assembly.transforms,
            history.assembly.transforms,
            len(self._possible),
            len(self._priced(self._possible)),
            self._solver_seconds,
            self._measurement,
            precisions_of(configs.values(), self._context.host),
            precisions_of(history.configs.values(), self._context.host),
            error,
        )
        free = [kernel for kernel in self._extracted.kernels if kernel.key not in self._fixed]
        keep_choice(free, configs, self._context, self._bounds(error))
        return choice

    def _bounds(self, error: KeptError | None) -> dict[str, RecordedBound]:
        if error is None:
            return {}
        keys = [kernel.key for kernel in self._extracted.kernels]
        return {key: RecordedBound(error.most, error.alone.get(key, {})) for key in keys}

    def _problem(self) -> LayoutProblem:
        """The problem as it stands; notes every transform that it asks for."""
        self._possible.clear()

        def seconds(task: Task) -> float | None:
            self._possible[task] = None
            found = self._table.transform(task)
            return None if found is None else found.seconds

        return layout_problem(self._extracted, self._candidates, seconds)

    def _candidates(self, kernel: KernelNode) -> Sequence[Candidate]:
        """What a kernel may become: just one config where the caller's contexts say it."""
        config = self._fixed.get(kernel.key)
        if config is None:
            return self._free_candidates(kernel.task)
        return [self._table.only(kernel.task, config)]

    def _free_candidates(self, task: Task) -> Sequence[Candidate]:
        """Where errors are bounded, also those that are behind others of lower precision."""
        own, *others = self._tables
        found = {candidate.config: candidate for candidate in own.candidates(task)}
        for table in others:
            with suppress(UsageError):  # all of float32 failed
                found |= {candidate.config: candidate for candidate in table.candidates(task)}
        return tuple(found.values())

    def _solve(self, problem: LayoutProblem) -> tuple[Solution, KeptError | None]:
        try:
            if self._bound is None:
                return self._solve_once(problem.problem), None
            return self._bound.solve(problem, self._solve_once)
        except InfeasibleProblemError as error:
            raise self._infeasible(error, problem) from None

    def _solve_once(self, problem: GraphProblem) -> Solution:
        start = time.perf_counter()
        try:
            solution = self._tuner.solve(problem)
        except InfeasibleProblemError:
            raise
        except ValueError as error:  # none found, which proves nothing
            raise UsageError(
                f"the graph tuner {type(self._tuner).__name__} found no choice of layouts: {error}",
                where=self._extracted.name,
                remedy="choose another graph tuner, or tune in more layouts",
            ) from error
        finally:
            self._solver_seconds += time.perf_counter() - start
        checked = problem.checked(solution)
        if checked is None:
            raise RuntimeError(
                f"the graph tuner {type(self._tuner).__name__} gave {solution!r}; expected a "
                f"permitted choice for {len(problem.costs)} nodes, and no bound above its cost"
            )
        return checked

    def _error_by(self, configs: Mapping[str, ConfigEntity]) -> float:
        try:
            assembly = self._assemble(configs)
        except _FailedTransformError:
            return inf
        return self._network_error(assembly)

    def _infeasible(self, error: InfeasibleProblemError, problem: LayoutProblem) -> UsageError:
        """Which kernels cannot agree."""
        first = len(problem.options) - len(self._extracted.kernels)
        kernels = self._extracted.kernels
        names = [kernels[node - first].name for node in error.nodes if node >= first]
        return UsageError(
            "no choice of layouts works: transforms between them failed",
            where=", ".join(f"node '{name}'" for name in names) or self._extracted.name,
            remedy="tune these nodes in more layouts",
        )

    def _assemble(self, configs: Mapping[str, ConfigEntity]) -> Assembly:
        def choose(task: Task, node: str) -> ConfigEntity:
            if node:
                return configs[node]
            transform = self._table.transform(task)
            if transform is None:
                raise _FailedTransformError
            return transform.config

        return assemble(self._extracted, choose, self._context.host)

    def _dispatch(self, best: Best) -> Dispatched:
        return dispatch_network(self._extracted, self._context, self._effort.accuracy, best)

    def _priced(self, transforms: Iterable[Task]) -> list[Measurable]:
        """Those of the transforms that the fitted model answers for."""
        ways = [(task, self._table.transform(task)) for task in transforms]
        return [(task, way.config) for task, way in ways if way is not None and not way.recorded]

    def _affordable(self) -> list[Measurable]:
        """Those that have no record yet, and shall have one."""
        return self._priced(_by_turns(self._possible)[: self._effort.transform_budget])

    def _measure(self, asked: Iterable[Measurable]) -> bool:
        """Measure what was not tried yet; returns whether there was any."""
        fresh = [pair for pair in asked if pair not in self._tried]
        if not fresh:
            return False
        self._tried.update(fresh)
        self._measurement = summed(self._measurement, measure_pairs(fresh, self._context))
        for table in self._tables:
            table.forget(task for task, _ in fresh)
        return True


class _FailedTransformError(Exception):
    """The configs need a transform that cannot be; those of a solved problem never do."""


def _by_turns(transforms: Iterable[Task]) -> list[Task]:
    """One of each pair of layouts in turn, so that the model is fitted to some of every pair."""
    families: dict[tuple[str, str], list[Task]] = {}
    for task in transforms:
        families.setdefault(family(task), []).append(task)
    rounds = zip_longest(*families.values())
    return [task for turn in rounds for task in turn if task is not None]
