"""The choice of one config for each kernel, over the whole network, kept as records."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from tilewright.errors import UsageError
from tilewright.strategies.strategy import strategy_of
from tilewright.terminal_text import brief
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.record import GraphRecord
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.task_set import WeightedTask
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.extraction.kernel_node import KernelNode
from tilewright_graph.selection.assembly import Assembly, Call, assemble
from tilewright_graph.selection.candidates import Candidate, estimated_seconds
from tilewright_graph.selection.cost_table import CostTable
from tilewright_graph.selection.dispatching import Best, Dispatched, dispatch_network, fixed_kernels
from tilewright_graph.selection.effort import Effort
from tilewright_graph.selection.graph_problem import GraphTuner, InfeasibleProblemError, Solution
from tilewright_graph.selection.layout_problem import LayoutProblem, layout_problem
from tilewright_graph.selection.prediction import Prediction, has_failed, predict, recorded_seconds
from tilewright_graph.selection.transform_prices import family
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.tuning.loop import measure_configs
from tilewright_pipeline.tuning.measurement import MeasurementSpent, summed

_USUAL = Effort()
_Measurable = tuple[Task, ConfigEntity]


@dataclass(frozen=True, slots=True)
class GraphChoice:
    """A config for each kernel, and its predicted costs.

    configs      by the kernels' keys; `history` has those of history best
    solution     the solver's account, of the last time it was asked
    predicted    of `fallback`, `history_best` and the `choice`
    kept         where the configs come from: the solver, or history best where that beats it
    transforms   that the configs make necessary; `history_transforms` those of history best
    possible     distinct transforms that the candidates may need
    priced       how many of them have no record, so that the fitted model answers for them
    solver_seconds  of all times that it was asked together
    measurement  of what was measured on the way, as run.json has it
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
        }


def tune_graph(
    extracted: ExtractedNetwork,
    tuner: GraphTuner,
    context: RunContext,
    effort: Effort = _USUAL,
) -> GraphChoice:
    """The tuner's choice, or history best where that beats it; kept as records.

    First the transforms that the candidates may need are measured, as far as the budget goes, those
    counted that have a record; the fitted model prices the rest. What then stands in the choice, or
    in history best's, without a record is measured and the choice is made again, until both rest on
    records alone, or no more can be had. A kernel for which a dispatch context answers that the
    caller has entered is fixed: the rest is chosen around it, and its config is not recorded as
    chosen.
    """
    return _GraphTuning(extracted, tuner, context, effort).tune()


class _GraphTuning:
    def __init__(
        self,
        extracted: ExtractedNetwork,
        tuner: GraphTuner,
        context: RunContext,
        effort: Effort,
    ) -> None:
        self._extracted = extracted
        self._tuner = tuner
        self._context = context
        self._effort = effort
        self._table = CostTable(context, effort.accuracy, effort.max_sch_num)
        self._fixed = fixed_kernels(extracted, context, effort.accuracy)
        self._possible: dict[Task, None] = {}
        self._tried: set[_Measurable] = set()
        self._solver_seconds = 0.0
        self._measurement = MeasurementSpent().report(0.0)

    def tune(self) -> GraphChoice:
        while True:
            problem = self._problem()
            if self._measure(self._affordable()):
                continue
            solution = self._solve(problem)
            configs = problem.configs(solution.choice)
            assembly = self._assemble(configs)
            history = self._dispatch("history")
            calls = (*assembly.calls, *history.assembly.calls)
            if not self._measure(self._without_record(calls)):
                break
        predicted = {
            "fallback": self._dispatch("fallback").prediction,
            "history_best": history.prediction,
            "choice": predict(assembly.calls, self._context),
        }
        kept = "solver"
        if predicted["choice"].beaten_by(predicted["history_best"]):
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
        )
        free = [kernel for kernel in self._extracted.kernels if kernel.key not in self._fixed]
        _keep(free, choice, self._context)
        return choice

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
            return self._table.candidates(kernel.task)
        known = recorded_seconds(kernel.task, config, self._context)
        seconds = estimated_seconds(kernel.task, self._context) if known is None else known
        layouts = self._context.host.layouts(kernel.task, config)
        return [Candidate(config, layouts, seconds, known is not None)]

    def _solve(self, problem: LayoutProblem) -> Solution:
        start = time.perf_counter()
        try:
            solution = self._tuner.solve(problem.problem)
        except InfeasibleProblemError as error:
            raise self._infeasible(error, problem) from None
        finally:
            self._solver_seconds += time.perf_counter() - start
        checked = problem.problem.checked(solution)
        if checked is None:
            raise RuntimeError(
                f"the graph tuner {type(self._tuner).__name__} gave {solution!r}; expected a "
                f"permitted choice for {len(problem.options)} nodes, and no bound above its cost"
            )
        return checked

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
            assert transform is not None, "the problem forbids what cannot be"
            return transform.config

        return assemble(self._extracted, choose, self._context.host)

    def _dispatch(self, best: Best) -> Dispatched:
        return dispatch_network(self._extracted, self._context, self._effort.accuracy, best)

    def _priced(self, transforms: Iterable[Task]) -> list[_Measurable]:
        """Those of the transforms that the fitted model answers for."""
        ways = [(task, self._table.transform(task)) for task in transforms]
        return [(task, way.config) for task, way in ways if way is not None and not way.recorded]

    def _affordable(self) -> list[_Measurable]:
        """Those that have no record yet, and shall have one."""
        return self._priced(_by_turns(self._possible)[: self._effort.transform_budget])

    def _without_record(self, calls: Iterable[Call]) -> list[_Measurable]:
        """What of the calls no record answers for, nor a failure."""
        asked = dict.fromkeys((call.task, call.config) for call in calls)
        unknown = [pair for pair in asked if recorded_seconds(*pair, self._context) is None]
        return [pair for pair in unknown if not has_failed(*pair, self._context)]

    def _measure(self, asked: Iterable[_Measurable]) -> bool:
        """Measure what was not tried yet; returns whether there was any."""
        fresh = [pair for pair in asked if pair not in self._tried]
        if not fresh:
            return False
        self._tried.update(fresh)
        named = [(WeightedTask(task, name=task.workload.operator), c) for task, c in fresh]
        measured = measure_configs(named, self._context)
        self._measurement = summed(self._measurement, measured.measurement)
        self._table.forget(task for task, _ in fresh)
        return True


def _by_turns(transforms: Iterable[Task]) -> list[Task]:
    """One of each pair of layouts in turn, so that the model is fitted to some of every pair."""
    families: dict[tuple[str, str], list[Task]] = {}
    for task in transforms:
        families.setdefault(family(task), []).append(task)
    rounds = zip_longest(*families.values())
    return [task for turn in rounds for task in turn if task is not None]


def _keep(kernels: Iterable[KernelNode], choice: GraphChoice, context: RunContext) -> None:
    """Write what differs from the choices that the store holds."""
    device, revisions = context.device, context.host.revisions
    known = context.store.graph_choices(device.fingerprint, revisions)
    records = []
    for kernel in kernels:
        config = choice.configs[kernel.key]
        held = known.get(kernel.key)
        if held is None or (held.task, held.config) != (kernel.task, config):
            revision = revisions[strategy_of(config.strategy)]
            records.append(
                GraphRecord(
                    kernel.key, kernel.task, config, device.name, device.fingerprint, revision
                )
            )
    if records:
        context.store.append(records)
