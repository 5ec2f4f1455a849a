"""What core itself offers, through the same door as everybody else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.events import RunSummary, Section
from tilewright.plugin import Component, hookimpl
from tilewright.target import Target

if TYPE_CHECKING:
    from tilewright.config import ConfigEntity
    from tilewright.host import PluginHost
    from tilewright.space.config_space import ConfigSpace
    from tilewright.task import Task


@hookimpl
def tilewright_stages() -> Sequence[Component[Any]]:
    """The tuning loop as a step of a pipeline."""
    return [Component("tune", "measure candidates for every task", _tune_stage, _tune_options)]


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
    from tilewright.fallback import fallback_config

    return fallback_config(task, space, host)


@hookimpl
def tilewright_summary_sections(summary: RunSummary) -> Sequence[Section]:
    """Tasks, verification, latency."""
    from tilewright.run_report import sections

    return sections(summary.report)


def _tune_stage() -> Any:
    from tilewright.tuning.stage import TuneStage

    return TuneStage


def _tune_options() -> Any:
    from tilewright.tuning.stage import TuneOptions

    return TuneOptions


def _jsonl_store() -> Any:
    from tilewright.records import JsonlRecordStore

    return lambda _options, path: JsonlRecordStore(path)


def _jsonl_reader() -> Any:
    from tilewright.records import JsonlReader

    return lambda _options, _host: JsonlReader()
