"""What a task is tried with: strategies of the run's glob, alternatives that can still win."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tilewright.space.config_space import ConfigSpace
from tilewright.strategies.strategy import strategy_of

if TYPE_CHECKING:
    from tilewright.vocabulary.task import Task
    from tilewright.vocabulary.task_set import TaskSet, WeightedTask
    from tilewright_pipeline.context.run_context import RunContext

_log = logging.getLogger("tilewright")
_NAMES_TOLD = 5
_NEEDED = 0.7
"""Share of a task's operations that its kernels do at least: those on margins may be skipped."""


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


def promising(
    space: ConfigSpace, best_seconds: float | None, task: Task, context: RunContext
) -> tuple[ConfigSpace, int]:
    """(the space without them, how many alternatives they are).

    The peak is that of float32, so that alternatives of float32 have a bound, but for algorithms of
    fewer operations; products of lower precision leave them behind.
    """
    host, peak = context.host, context.device.peak_flops.get(task.target.threads)
    if host.precision == "float32" or best_seconds is None or not peak:
        return space, 0
    if any(spec.dtype != "float32" for spec in task.workload.inputs):
        return space, 0
    operations = host.reference(task.workload.operator).operations(task.workload)
    if best_seconds >= _NEEDED * operations / peak:
        return space, 0
    kept = []
    for alternative in space.alternatives:
        strategy = host.strategy(strategy_of(alternative.name))
        if strategy.precision != "float32" or not strategy.direct_error:
            kept.append(alternative)
    spared = len(space.alternatives) - len(kept)
    return (ConfigSpace(kept), spared) if kept else (space, 0)
