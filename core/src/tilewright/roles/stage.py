"""The role of stages: the steps of a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from tilewright.config import ConfigEntity
    from tilewright.device import Device
    from tilewright.host import PluginHost
    from tilewright.measure import Conditions
    from tilewright.records import JsonlRecordStore, Query
    from tilewright.target import Target
    from tilewright.task import Task
    from tilewright.tuning.budget import Budget


@dataclass(frozen=True)
class RunContext:
    """What every stage of a run shares.

    runner, builder  name and options of those that measure
    strategies       glob over the names of alternatives; see `narrowed`
    more             what `--more` adds to what tuning stages have left (nothing once finished)
    foreign_records  whether records of other devices may serve as starting points
    branch           which of several networks the stage runs for; empty where there is one
    saves            whether stages leave files in the folder; where not, it is gone afterwards
    """

    name: str
    folder: Path
    target: Target
    device: Device
    host: PluginHost
    store: JsonlRecordStore
    conditions: Conditions
    seed: int
    runner: tuple[str, Mapping[str, Any]]
    builder: tuple[str, Mapping[str, Any]]
    strategies: str = "*"
    more: Budget | None = None
    foreign_records: bool = False
    branch: str = ""
    saves: bool = True

    def query(self, task: Task, where: Callable[[ConfigEntity], bool] | None = None) -> Query:
        """Which records of a task count in this run: those of its strategies, or of `where`."""
        from tilewright.narrowing import own_configs
        from tilewright.records import Query

        where = where or own_configs(task, self)
        conditions = self.conditions.for_workload(task.workload)
        return Query(task, conditions, self.device.fingerprint, self.host.revisions, where=where)


@dataclass(frozen=True, slots=True)
class StageResult:
    """What a stage hands on and what it writes into run.json.

    values    found by later stages by their type
    report    top-level members of run.json (`verify`, `benchmark`, ...)
    ok        False: a check failed, exit code 1, and nothing runs behind it
    partial   True: less than was asked for, exit code 3 in the end; the run goes on
    branches  values of several networks, by name: later stages run once for each, or once for all
              where their inputs can be merged (tasks); after the last of those, each branch is a
              run of its own, in a folder of its name
    """

    values: tuple[Any, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)
    ok: bool = True
    branches: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    partial: bool = False


class Stage(Protocol):
    """A typed step of a pipeline; the factory is called with (options, RunContext).

    With a class attribute `measures = True` where it needs the runner and the builder.
    """

    consumes: ClassVar[tuple[type, ...]]
    optional: ClassVar[tuple[type, ...]]
    produces: ClassVar[tuple[type, ...]]

    def run(self, values: Mapping[type, Any]) -> StageResult:
        """Do the work; `values` holds what `consumes` names and what of `optional` there is."""
        ...
