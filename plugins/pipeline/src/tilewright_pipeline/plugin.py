"""Registers what tilewright-pipeline offers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tilewright.plugins.plugin import Component, hookimpl, late

if TYPE_CHECKING:
    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.task import Task
    from tilewright_pipeline.context.events import RunSummary, Section, TuneOutcome

_log = logging.getLogger("tilewright")


@hookimpl
def tilewright_hookspecs() -> Sequence[ModuleType]:
    from tilewright_pipeline import hookspecs

    return [hookspecs]


@hookimpl
def tilewright_stages() -> Sequence[Component[Any]]:
    """The tuning loop as a step of a pipeline."""
    stage, options = (
        late(f"tilewright_pipeline.{home}", name)
        for home, name in (
            ("tuning.tune_stage", "TuneStage"),
            ("options.tune_options", "TuneOptions"),
        )
    )
    return [Component("tune", "measure candidates for every task", stage, options)]


@hookimpl
def tilewright_task_started(task: Task, space: ConfigSpace) -> None:
    """Log the size of the space at debug level."""
    names = ", ".join(alternative.name for alternative in space.alternatives)
    _log.debug("%s: %d points in %s", task.workload.operator, space.size, names)


@hookimpl
def tilewright_task_finished(outcome: TuneOutcome) -> None:
    """Warns of a task without any success, and says why."""
    if outcome.best_seconds is None and outcome.errors:
        reasons = "\n  ".join(outcome.errors)
        text = "%s: all %d trials failed:\n  %s"
        _log.warning(text, outcome.name, outcome.trials, reasons)


@hookimpl
def tilewright_summary_sections(summary: RunSummary) -> Sequence[Section]:
    """The tasks."""
    from tilewright_pipeline.run.run_report import sections

    return sections(summary.report)
