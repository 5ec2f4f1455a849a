"""When two tuning stages are one: what a finished stage is recognised by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.canonical import content_key
from tilewright.options import Choice

if TYPE_CHECKING:
    from tilewright.vocabulary.task_set import TaskSet
    from tilewright_pipeline.context.run_context import RunContext
    from tilewright_pipeline.options.tune_options import TuneOptions


def stage_key(tasks: TaskSet, context: RunContext, options: TuneOptions) -> str:
    """A hash that is equal for tuning stages that would do the same."""
    host = context.host
    revisions = {
        strategy.first_name: strategy.revision
        for entry in tasks
        for strategy in host.strategies(entry.task, context.history.narrowed(entry.task))
    }
    chosen = {
        "tuner": options.tuner,
        "scheduler": options.scheduler,
        "runner": Choice(*context.runner),
        "builder": Choice(*context.builder),
    }
    return content_key(
        {
            **{
                role: [choice.name, host.check(role, choice).model_dump_json()]
                for role, choice in chosen.items()
            },
            "budget": str(options.budget),
            "early_stopping": options.early_stopping,
            "tasks": {entry.task.key: [entry.weight, entry.networks] for entry in tasks},
            "conditions": context.conditions.to_json(),
            "strategies": context.strategies,
            **({} if host.precision == "float32" else {"precision": host.precision}),
            "revisions": revisions,
            "seed": context.seed,
            "foreign_records": context.foreign_records,
        }
    )
