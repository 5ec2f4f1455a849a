"""When two tuning stages are one: what a finished stage is recognised by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.canonical import content_key

if TYPE_CHECKING:
    from tilewright.options import Choice
    from tilewright.roles import RunContext
    from tilewright.task_set import TaskSet
    from tilewright.tuning.budget import Budget


def stage_key(
    tasks: TaskSet,
    context: RunContext,
    *,
    tuner: Choice,
    scheduler: Choice,
    budget: Budget,
    early_stopping: int | None,
) -> str:
    """A hash that is equal for tuning stages that would do the same."""
    host = context.host
    revisions = {
        strategy.name: strategy.revision
        for entry in tasks
        for strategy in host.strategies(entry.task, context.strategies)
    }
    return content_key(
        {
            "tuner": [tuner.name, tuner.options],
            "scheduler": [scheduler.name, scheduler.options],
            "budget": str(budget),
            "early_stopping": early_stopping,
            "tasks": sorted(entry.task.key for entry in tasks),
            "conditions": context.conditions.to_json(),
            "strategies": context.strategies,
            "revisions": revisions,
        }
    )
