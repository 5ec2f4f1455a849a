"""What the store already knows when a tuning stage begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.config import ConfigEntity
    from tilewright.measure import Conditions, Trial
    from tilewright.roles import RunContext
    from tilewright.task import Task


def known_trials(context: RunContext) -> list[Trial]:
    """Trials of this device, the installed strategies and the run's conditions, oldest first.

    Those that the machinery spoiled are left out: they say nothing about their config.
    """
    found = context.store.trials(context.device.fingerprint, context.host.revisions)
    return [
        trial
        for trial in found
        if trial.input.conditions.constants == _constants(context, trial.input.task)
        and not (trial.result.failure is not None and trial.result.failure.kind.retried)
    ]


def best_of_anchor(context: RunContext, task: Task, conditions: Conditions) -> list[ConfigEntity]:
    """The best config among tasks that differ from this one at most in their epilogue."""
    best = context.store.best_of_anchor(
        task, conditions, context.device.fingerprint, context.host.revisions
    )
    return [best.config] if best is not None else []


def adopted_configs(context: RunContext, task: Task, conditions: Conditions) -> list[ConfigEntity]:
    """The best config that another device found, where the run allows foreign records."""
    if not context.foreign_records:
        return []
    best = context.store.best(
        task,
        conditions,
        context.device.fingerprint,
        context.host.revisions,
        foreign_devices=True,
    )
    return [best.config] if best is not None else []


def _constants(context: RunContext, task: Task) -> str:
    return context.conditions.for_workload(task.workload).constants
