"""The values that notify hooks receive: plain data, complete when sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task_set import WeightedTask

if TYPE_CHECKING:
    from tilewright.roles import TaskState

StageStatus = Literal["ok", "failed", "skipped", "interrupted"]
EndReason = Literal[
    "budget",
    "exhausted",
    "early_stopping",
    "dead",
    "device_lost",
    "workers_lost",
    "interrupted",
    "finished",
]


@dataclass(frozen=True, slots=True)
class RunInfo:
    """The run: its name, folder, target, device, and the names of its stages in order."""

    name: str
    folder: Path
    target: Target
    device: Device
    stages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StageOutcome:
    """How a stage ended; `report` is what it adds to run.json."""

    name: str
    status: StageStatus
    seconds: float
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TuneProgress:
    """Where a tuning stage stands.

    entries    its tasks, numbered from 0, with weights and names
    states     how far each has come
    next_task  number of the task that the next batch begins with, None when there is none
    seconds    since the stage began
    left       of the stage's budget, what earlier runs spent taken off; None where it has none
    """

    entries: tuple[WeightedTask, ...]
    states: tuple[TaskState, ...]
    next_task: int | None
    seconds: float
    device: Device
    left: Budget | None = None

    @property
    def trials(self) -> int:
        """Of all tasks, those of earlier runs too."""
        return sum(state.trials for state in self.states)

    @property
    def total_seconds(self) -> float | None:
        """Estimated latency, the sum of weight x best time; None while a task has no time."""
        times = [state.best_seconds for state in self.states]
        if not times or None in times:
            return None
        return sum(s.weight * s.best_seconds for s in self.states if s.best_seconds is not None)


@dataclass(frozen=True, slots=True)
class TuneOutcome:
    """How the tuning of one task ended.

    reason   `finished` where nothing more was asked for, by the scheduler or the stage
    errors   the commonest failures of this run, at most three, as `kind: first line (n times)`
    name     the task's, for people
    started_by  what the tuner's first proposals rest on, for people; empty where on nothing
    """

    trials: int
    failures: int
    best_config: ConfigEntity | None
    best_seconds: float | None
    reason: EndReason
    errors: tuple[str, ...] = ()
    name: str = ""
    started_by: str = ""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How the run ended: exit code, seconds, and the content of run.json."""

    exit_code: int
    seconds: float
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What `tilewright_summary_sections` is asked about."""

    run: RunInfo
    report: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Section:
    """A titled table of the summary; cells are texts, shown as they are.

    Raises TypeError for a row that is no text a column.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns) or not all(isinstance(cell, str) for cell in row):
                raise TypeError(f"'{self.title}': expected a text for each column, got {row!r}")
