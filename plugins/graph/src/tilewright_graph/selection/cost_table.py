"""What kernels and transforms cost, as far as is known by now."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.errors import UsageError
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_graph.selection.candidates import (
    MAX_SCH_NUM,
    Accuracy,
    Candidate,
    estimated_seconds,
    find_candidates,
    recorded_candidates,
)
from tilewright_graph.selection.prediction import recorded_seconds
from tilewright_graph.selection.transform_prices import TransformPrices
from tilewright_pipeline.context.run_context import RunContext


class CostTable:
    """Candidates of kernels, and the way to carry out each transform.

    >>> table.candidates(task)      # at least one
    >>> table.transform(task)       # None where it cannot be
    >>> table.forget(tasks)         # they were measured: look again, and fit prices again
    """

    def __init__(
        self, context: RunContext, accuracy: Accuracy = "default", max_sch_num: int = MAX_SCH_NUM
    ) -> None:
        self._context = context
        self._accuracy = accuracy
        self._max_sch_num = max_sch_num
        self._candidates: dict[Task, tuple[Candidate, ...]] = {}
        self._recorded: dict[Task, tuple[Candidate, ...]] = {}
        self.prices = TransformPrices.of(context)

    def candidates(self, task: Task) -> tuple[Candidate, ...]:
        """What a kernel may become. Raises UsageError where all of it failed."""
        found = self._find(task)
        if not found:
            raise UsageError(self._failure(task), remedy="tune it: no other config of it is known")
        return found

    def recorded(self, task: Task) -> tuple[Candidate, ...]:
        """The measured candidates; may be empty."""
        if task not in self._recorded:
            every = recorded_candidates(task, self._context, self._accuracy)
            self._recorded[task] = every[: self._max_sch_num]
        return self._recorded[task]

    def only(self, task: Task, config: ConfigEntity) -> Candidate:
        """The one candidate of a kernel whose config is given."""
        known = recorded_seconds(task, config, self._context)
        seconds = estimated_seconds(task, self._context) if known is None else known
        layouts = self._context.host.layouts(task, config)
        return Candidate(config, layouts, seconds, known is not None)

    def transform(self, task: Task) -> Candidate | None:
        """The fastest way; priced by the fitted model where nothing was measured."""
        best = next(iter(self._find(task)), None)
        if best is None or best.recorded:
            return best
        return Candidate(best.config, best.layouts, self.prices(task), recorded=False)

    def forget(self, tasks: Iterable[Task]) -> None:
        """Look these tasks up again, and fit the prices to what is recorded by now."""
        for task in tasks:
            self._candidates.pop(task, None)
            self._recorded.pop(task, None)
        self.prices = TransformPrices.of(self._context)

    def _find(self, task: Task) -> tuple[Candidate, ...]:
        if task not in self._candidates:
            self._candidates[task] = find_candidates(
                task, self._context, self._accuracy, self._max_sch_num
            )
        return self._candidates[task]

    def _failure(self, task: Task) -> str:
        context, workload = self._context, task.workload
        failures = context.history.failed(task)
        text = context.host.reference(workload.operator).format(workload)
        last = next(reversed(failures.values()), None)
        why = "none is feasible" if last is None else last.in_one_line()
        return f"no candidate of {text} works: {why}"
