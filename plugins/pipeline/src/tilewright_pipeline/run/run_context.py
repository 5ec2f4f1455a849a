"""What the stages of a run share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.plugins.host import PluginHost
from tilewright.roles import RecordStore
from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Conditions
from tilewright.vocabulary.query import Query
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task


@dataclass(frozen=True)
class RunContext:
    """What every stage of a run shares.

    runner, builder  name and options of those that measure
    strategies       glob over the names of alternatives; see `narrowed`
    more             what `--more` adds to the remaining budget of tuning stages
    foreign_records  whether records of other devices may serve as starting points
    branch           which of several networks the stage runs for; empty where there is one
    saves            whether stages leave files in the folder; where not, it is gone afterwards
    """

    name: str
    folder: Path
    target: Target
    device: Device
    host: PluginHost
    store: RecordStore
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
        from tilewright_pipeline.run.narrowing import own_configs

        where = where or own_configs(task, self)
        conditions = self.conditions.for_workload(task.workload)
        return Query(task, conditions, self.device.fingerprint, self.host.revisions, where=where)
