"""What a task is tried with: strategies of the run's glob."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.vocabulary.task_set import TaskSet, WeightedTask
    from tilewright_pipeline.context.run_context import RunContext

_log = logging.getLogger("tilewright")
_NAMES_TOLD = 5


def check_narrowing(tasks: TaskSet, context: RunContext) -> list[WeightedTask]:
    """The tasks that the run's glob leaves nothing, but that have other strategies.

    Raises UsageError where it leaves none of the tasks anything, and for a task without strategies.
    """
    narrowed = context.history.narrowed
    beyond = [entry for entry in tasks if narrowed(entry.task) != context.strategies]
    if beyond and len(beyond) == len(tasks):
        context.host.space(beyond[0].task, context.strategies)  # says what there is
    for entry in beyond:
        context.host.space(entry.task)
    return beyond


def tell_narrowing(tasks: TaskSet, context: RunContext) -> None:
    """Warn of the tasks that the run's glob leaves nothing. Raises as `check_narrowing`."""
    beyond = check_narrowing(tasks, context)
    if not beyond:
        return
    names = [entry.name for entry in beyond[:_NAMES_TOLD]]
    more = f" and {len(beyond) - len(names)} more" if len(beyond) > len(names) else ""
    _log.warning(
        "%s: no strategy of %d of %d tasks matches '%s'; they may take any: %s%s",
        context.name,
        len(beyond),
        len(tasks),
        context.strategies,
        ", ".join(names),
        more,
    )
