"""The stage `tune`: the tuning loop as a step of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from tilewright.errors import UsageError
from tilewright.options import DEFAULT, Choice, Options
from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.task_set import TaskSet
from tilewright_pipeline.options.mistakes import BadValueError
from tilewright_pipeline.run.run_context import RunContext
from tilewright_pipeline.run.run_report import task_entry
from tilewright_pipeline.stages.stage import StageResult
from tilewright_pipeline.tuning.budget_text import parse_budget
from tilewright_pipeline.tuning.loop import tune_tasks


def _budget(value: Any) -> Budget:
    try:
        return parse_budget(value)
    except UsageError as error:
        raise BadValueError(error.message, error.remedy) from None


BudgetOption = Annotated[
    Budget,
    BeforeValidator(_budget),
    PlainSerializer(str),
    WithJsonSchema({"type": ["string", "integer"], "examples": ["60s", "2min", 200]}),
]


class TuneOptions(Options):
    """Options of the stage `tune`.

    budget          seconds (`60s`) or trials (`200`, failures counted), for the stage as a whole
    early_stopping  trials without improvement after which a task gets no more
    """

    tuner: Choice = DEFAULT
    scheduler: Choice = DEFAULT
    budget: BudgetOption = Budget(seconds=60.0)
    early_stopping: int | None = Field(None, ge=1)


class TuneStage:
    """Measures candidates for every task; what it finds is in the record store."""

    consumes: ClassVar[tuple[type, ...]] = (TaskSet,)
    optional: ClassVar[tuple[type, ...]] = ()
    produces: ClassVar[tuple[type, ...]] = ()
    measures: ClassVar[bool] = True

    def __init__(self, options: TuneOptions, context: RunContext) -> None:
        self._options = options
        self._context = context

    def run(self, values: Mapping[type, Any]) -> StageResult:
        options = self._options
        report = tune_tasks(
            values[TaskSet],
            self._context,
            tuner=options.tuner,
            scheduler=options.scheduler,
            budget=options.budget,
            early_stopping=options.early_stopping,
            more=self._context.more,
        )
        entries = [task_entry(entry, self._context) for entry in values[TaskSet]]
        dead = any(entry["trials"] and entry["best_seconds"] is None for entry in entries)
        return StageResult(report=report.members, partial=report.partial or dead)
