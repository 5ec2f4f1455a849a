"""What becomes of every line of another system's log."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.json_object import BadLineError, UnknownLineError
from tilewright.strategies.strategy import Adopts
from tilewright.vocabulary.record import Record
from tilewright.vocabulary.task import Task

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.record import AnyRecord
    from tilewright.vocabulary.target import Target


class Fate(StrEnum):
    """What a line is worth; the value is what people read."""

    PROPOSAL = "first proposal"
    FAILED = "failed where it was measured"
    NO_STRATEGY = "no strategy here"
    UNKNOWN = "not known here"
    BROKEN = "broken"


class LineFate(NamedTuple):
    """A line, what became of it, and why.

    template  what its config is called, empty where it has none
    configs   what strategies here make of it
    """

    line: int
    fate: Fate
    why: str
    template: str = ""
    configs: tuple[ConfigEntity, ...] = ()

    def to_json(self) -> dict[str, Any]:
        configs = [config.to_json() for config in self.configs]
        return {**self._asdict(), "configs": configs}


def line_fates(path: Path, target: Target, host: PluginHost) -> Iterator[LineFate]:
    """Every line of a log that holds something, on a target. Raises UsageError as `read_log`."""
    from tilewright_records.readers import read_log

    for number, found in read_log(path, host):
        if isinstance(found, UnknownLineError):
            yield LineFate(number, Fate.UNKNOWN, str(found))
        elif isinstance(found, BadLineError):
            yield LineFate(number, Fate.BROKEN, str(found))
        else:
            yield _of_record(number, found, target, host)


def _of_record(number: int, found: AnyRecord, target: Target, host: PluginHost) -> LineFate:
    from tilewright_pipeline.tuning.history import translated

    if not isinstance(found, Record):
        return LineFate(number, Fate.UNKNOWN, f"a {found.kind} record, which is no trial")
    template, failure = found.config.strategy, found.trial.result.failure
    if failure is not None:
        return LineFate(number, Fate.FAILED, failure.text, template)
    task = Task(found.task.workload, target)
    feasible = tuple(
        config
        for config in translated(task, [found], host)
        if host.space(task, config.strategy).is_valid(config)
    )
    if feasible:
        names = ", ".join(config.strategy for config in feasible)
        return LineFate(number, Fate.PROPOSAL, names, template, feasible)
    asked = [s.name for s in host.strategies(task) if _adopts(s.name, host)]
    none = f"none of {', '.join(asked)} has a counterpart" if asked else "nothing takes configs"
    return LineFate(number, Fate.NO_STRATEGY, f"{none} for {task.workload.operator}", template)


def _adopts(strategy: str, host: PluginHost) -> bool:
    return isinstance(host.implementation(strategy), Adopts)
