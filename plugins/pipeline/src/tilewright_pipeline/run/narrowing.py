"""The strategies that a run's glob leaves a task: all of them where none matches."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.task import Task
    from tilewright.vocabulary.task_set import TaskSet, WeightedTask
    from tilewright_pipeline.run.run_context import RunContext

_log = logging.getLogger("tilewright")
_NAMES_TOLD = 5


def narrowed(task: Task, context: RunContext) -> str:
    """The glob that holds for a task: the run's, or `*` where that leaves it no alternative."""
    pattern = context.strategies
    if pattern == "*" or context.host.space_within(task, pattern) is None:
        return "*"
    return pattern


def own_configs(task: Task, context: RunContext) -> Callable[[ConfigEntity], bool] | None:
    """Which configs of a task are of the run's strategies, None where all are."""
    pattern = narrowed(task, context)
    if pattern == "*":
        return None
    return lambda config: context.host.selects(pattern, config.strategy)


def check_narrowing(tasks: TaskSet, context: RunContext) -> list[WeightedTask]:
    """The tasks that the run's glob leaves nothing, but that have other strategies.

    Raises UsageError where it leaves none of the tasks anything, and for a task without strategies.
    """
    beyond = [entry for entry in tasks if narrowed(entry.task, context) != context.strategies]
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
