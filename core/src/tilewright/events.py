"""What notify hooks are told: plain values, complete when they are sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tilewright.config import ConfigEntity
from tilewright.device import Device
from tilewright.measure import Trial
from tilewright.target import Target
from tilewright.tuning.budget import Budget

StageStatus = Literal["ok", "failed", "skipped", "interrupted"]
EndReason = Literal["budget", "exhausted", "early_stopping", "dead", "interrupted", "finished"]


@dataclass(frozen=True, slots=True)
class RunInfo:
    """Who runs: name, folder, target, device, the names of the stages in order.

    budget   what tuning may spend, where the pipeline tunes
    """

    name: str
    folder: Path
    target: Target
    device: Device
    stages: tuple[str, ...]
    budget: Budget | None = None


@dataclass(frozen=True, slots=True)
class StageOutcome:
    """How a stage ended; `report` is what it adds to run.json."""

    name: str
    status: StageStatus
    seconds: float
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TuneOutcome:
    """How the tuning of one task ended.

    errors   the commonest failures of this run, at most three, as `kind: first line (n times)`
    """

    trials: int
    failures: int
    best_config: ConfigEntity | None
    best_seconds: float | None
    reason: EndReason
    errors: tuple[str, ...] = ()


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
    """A titled table of the summary; cells are texts, shown as they are."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def commonest_errors(trials: Sequence[Trial], limit: int = 3) -> tuple[str, ...]:
    """The most frequent failures as `kind: first line (n times)`, most frequent first."""
    counted = Counter(
        f"{failure.kind}{f' ({failure.signal})' if failure.signal else ''}: "
        f"{(failure.text.strip().splitlines() or ['no text'])[-1][:160]}"
        for failure in (trial.result.failure for trial in trials)
        if failure is not None
    )
    return tuple(f"{text} ({count} times)" for text, count in counted.most_common(limit))
