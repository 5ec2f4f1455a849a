"""Records of a network's kernels that are fastest together; nothing is measured for that."""

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
from tilewright_graph.selection.candidates import Accuracy, Candidate, context_of
from tilewright_graph.selection.cost_table import CostTable
from tilewright_graph.selection.graph_problem import GraphTuner
from tilewright_graph.selection.layout_problem import layout_problem
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.dispatch.contexts import ApplyHistoryBest


@dataclass(frozen=True, eq=False)
class ApplyAgreed(DispatchContext):
    """The records that were chosen together, by node; other nodes are asked outside.

    known   what it answered
    """

    configs: Mapping[str, ConfigEntity]
    context: RunContext
    known: dict[tuple[Task, ConfigEntity], Answer | None] = field(default_factory=dict)

    def find(self, task: Task, node: str | None) -> Answer | None:
        config = None if node is None else self.configs.get(node)
        if config is None:
            return None
        if (task, config) not in self.known:
            history = context_of(task, self.context).history
            answer = ApplyHistoryBest(history, where=config.__eq__).find(task, None)
            self.known[task, config] = answer
        return self.known[task, config]


def agreed_configs(
    extracted: ExtractedNetwork,
    present: Mapping[str, ConfigEntity],
    free: Set[str],
    context: RunContext,
    accuracy: Accuracy,
) -> dict[str, ConfigEntity]:
    """By key, the free kernels' recorded configs that are fastest with the transforms they need.

    Where each kernel takes its own fastest record, the transforms between them may take more than
    that gains. Transforms without a record count at prices fitted to those that have one, else by
    the device's bandwidth; in a frozen run they count as impossible, so that equal records give
    equal configs. Empty where no choice is found, or nothing that was measured tells prices.

    present  every kernel's config by now; those that are not free, or have no record, keep it
    """
    table = CostTable(context, accuracy)
    priced = table.prices.fitted or context.target.threads in context.device.bandwidth
    if not (priced or context.frozen):
        return {}

    def candidates(kernel: KernelNode) -> Sequence[Candidate]:
        recorded = table.recorded(kernel.task) if kernel.key in free else ()
        return recorded or (table.only(kernel.task, present[kernel.key]),)

    def seconds(task: Task) -> float | None:
        way = table.transform(task)
        usable = way is not None and (way.recorded or not context.frozen)
        return way.seconds if way is not None and usable else None

    tuner: GraphTuner = context.host.choose("graph_tuner", DEFAULT, context.host)
    try:
        problem = layout_problem(extracted, candidates, seconds)
        solution = problem.problem.checked(tuner.solve(problem.problem))
    except (UsageError, ValueError):
        return {}
    configs = {} if solution is None else problem.configs(solution.choice)
    return {key: config for key, config in configs.items() if key in free}
