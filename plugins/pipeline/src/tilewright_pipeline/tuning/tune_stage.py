"""The stage `tune`: the tuning loop as a step of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tilewright.vocabulary.task_set import TaskSet
from tilewright_pipeline.context.frozen import refuse_missing
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.stages.stage import StageResult
from tilewright_pipeline.tuning.loop import tune_tasks
from tilewright_pipeline.tuning.task_entry import task_entry
from tilewright_pipeline.tuning.tune_report import TuneReport


class TuneStage:
    """Measures candidates for every task; what it finds is in the record store."""

    consumes: ClassVar[tuple[type, ...]] = (TaskSet,)
    optional: ClassVar[tuple[type, ...]] = ()
    produces: ClassVar[tuple[type, ...]] = ()
    measures: ClassVar[bool] = True

    def __init__(self, options: TuneOptions, context: RunContext) -> None:
        self._options = options
        self._context = context

    def tune(self, tasks: TaskSet) -> TuneReport:
        """Measure candidates for these tasks, as the run and the options say."""
        return tune_tasks(tasks, self._context, self._options, more=self._context.more)

    def run(self, values: Mapping[type, Any]) -> StageResult:
        if self._context.frozen:
            self._refuse_missing(values[TaskSet])
            return StageResult()
        report = self.tune(values[TaskSet])
        entries = [task_entry(entry, self._context) for entry in values[TaskSet]]
        dead = any(entry["trials"] and entry["best_seconds"] is None for entry in entries)
        return StageResult(report=report.members, partial=report.partial or dead)

    def _refuse_missing(self, tasks: TaskSet) -> None:
        context = self._context
        named = (
            (entry.name, context.host.reference(entry.task.workload.operator), entry.task.workload)
            for entry in tasks
            if context.history.best(entry.task) is None
        )
        refuse_missing(((name, one.format(workload)) for name, one, workload in named), context)
