"""Configs of a network's kernels that are fastest together; nothing is measured for that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from tilewright.errors import UsageError
from tilewright.options import DEFAULT
from tilewright.strategies.dispatch import Answer, DispatchContext
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.extraction.kernel_node import KernelNode
from tilewright_graph.selection.candidates import (
    Accuracy,
    Candidate,
    context_of,
    unmeasured_candidates,
)
from tilewright_graph.selection.cost_table import CostTable
from tilewright_graph.selection.graph_problem import GraphTuner
from tilewright_graph.selection.layout_problem import layout_problem
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.dispatch.contexts import ApplyHistoryBest
from tilewright_pipeline.dispatch.unmeasured import FALLBACK


@dataclass(frozen=True, eq=False)
class ApplyAgreed(DispatchContext):
    """The configs that were chosen together, by node; other nodes are asked outside.

    known   what it answered
    """

    configs: Mapping[str, ConfigEntity]
    context: RunContext
    known: dict[tuple[Task, ConfigEntity], Answer] = field(default_factory=dict)

    def find(self, task: Task, node: str | None) -> Answer | None:
        config = None if node is None else self.configs.get(node)
        if config is None:
            return None
        if (task, config) not in self.known:
            history = context_of(task, self.context).history
            answer = ApplyHistoryBest(history, where=config.__eq__).find(task, None)
            self.known[task, config] = answer or Answer(config, None, FALLBACK)
        return self.known[task, config]


@dataclass(frozen=True, slots=True)
class Free:
    """Kernels whose configs may change, by key.

    measured    may take other records, if records or the bandwidth tell what transforms cost
    unmeasured  may take what is advised for other layouts
    """

    measured: Set[str]
    unmeasured: Set[str]


@dataclass(frozen=True, slots=True)
class Agreed:
    """Configs other than those that kernels had, by key.

    slower  seconds that those without a record are taken to need beyond their tasks' estimates
    """

    configs: Mapping[str, ConfigEntity]
    slower: float


def agreed_configs(
    extracted: ExtractedNetwork,
    present: Mapping[str, ConfigEntity],
    free: Free,
    context: RunContext,
    accuracy: Accuracy,
) -> Agreed:
    """Other configs than present, which are faster with the transforms that all need.

    Where each kernel takes its own fastest record, or its fallback, the transforms between them may
    take more than that gains. Transforms without a record count at prices fitted to those that have
    one, else by the device's bandwidth; in a frozen run they count as impossible, so that equal
    records give equal configs. Empty where no choice is found.

    present  every kernel's config by now; those that are not free keep it
    """
    table = CostTable(context, accuracy)
    known_prices = table.prices.fitted or context.target.threads in context.device.bandwidth
    measured = free.measured if known_prices or context.frozen else frozenset()

    def candidates(kernel: KernelNode) -> Sequence[Candidate]:
        config = present[kernel.key]
        if kernel.key in free.unmeasured:
            return unmeasured_candidates(kernel.task, config, context, accuracy)
        recorded = table.recorded(kernel.task) if kernel.key in measured else ()
        return recorded or (table.only(kernel.task, config),)

    def seconds(task: Task) -> float | None:
        way = table.transform(task)
        usable = way is not None and (way.recorded or not context.frozen)
        return way.seconds if way is not None and usable else None

    every = {kernel.key: candidates(kernel) for kernel in extracted.kernels}
    tuner: GraphTuner = context.host.choose("graph_tuner", DEFAULT, context.host)
    try:
        problem = layout_problem(extracted, lambda kernel: every[kernel.key], seconds)
        solution = problem.problem.checked(tuner.solve(problem.problem))
    except (UsageError, ValueError):
        return Agreed({}, 0.0)
    chosen = {} if solution is None else problem.configs(solution.choice)
    configs = {key: config for key, config in chosen.items() if config != present[key]}
    slower = sum(
        one.seconds - every[key][0].seconds
        for key in configs.keys() & free.unmeasured
        for one in every[key]
        if one.config == configs[key]
    )
    return Agreed(configs, slower)
