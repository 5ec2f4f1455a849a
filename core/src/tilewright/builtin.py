"""What core itself offers, through the same door as everybody else."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.events import RunSummary, Section, TuneOutcome
from tilewright.plugin import Component, hookimpl, late
from tilewright.target import Target

if TYPE_CHECKING:
    from tilewright.config import ConfigEntity
    from tilewright.host import PluginHost
    from tilewright.space.config_space import ConfigSpace
    from tilewright.task import Task


_log = logging.getLogger("tilewright")


@hookimpl
def tilewright_stages() -> Sequence[Component[Any]]:
    """The tuning loop as a step of a pipeline."""
    stage, options = (
        late("tilewright.tuning.stage", name) for name in ("TuneStage", "TuneOptions")
    )
    return [Component("tune", "measure candidates for every task", stage, options)]


@hookimpl
def tilewright_record_stores() -> Sequence[Component[Any]]:
    """JSON lines."""
    return [Component("jsonl", "append-only JSON lines with checksums", _jsonl_store)]


@hookimpl
def tilewright_record_readers() -> Sequence[Component[Any]]:
    """The format of that store."""
    return [Component("jsonl", "append-only JSON lines with checksums", _jsonl_reader)]


@hookimpl(trylast=True)
def tilewright_resolve_target(text: str) -> Target | None:
    """`kind:name=value,...`, asked last."""
    return Target.parse(text)


@hookimpl(trylast=True)
def tilewright_fallback_config(
    task: Task, space: ConfigSpace, host: PluginHost
) -> ConfigEntity | None:
    """What the strategies themselves advise, else the first feasible point."""
    from tilewright.fallback import fallback_configs

    return next(fallback_configs(task, space, host), None)


@hookimpl
def tilewright_task_started(task: Task, space: ConfigSpace) -> None:
    """The size of the space, for those who look at the log closely."""
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
    """Tasks, verification, latency."""
    from tilewright.run_report import sections

    return sections(summary.report)


def _jsonl_store() -> Any:
    from tilewright.records import JsonlRecordStore

    return lambda _options, path: JsonlRecordStore(path, create_parents=True)


def _jsonl_reader() -> Any:
    from tilewright.records import JsonlReader

    return lambda _options, _host: JsonlReader()
