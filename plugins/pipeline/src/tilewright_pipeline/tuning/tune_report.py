"""What a tuning stage did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilewright.errors import UsageError
from tilewright.notebook import notebook_html
from tilewright_pipeline.context.events import TuneOutcome
from tilewright_pipeline.stages.stage import StageResult


@dataclass(frozen=True, slots=True)
class TuneReport:
    """What a tuning stage did; `measurement` is the member of run.json.

    outcomes   by task key
    curve      (seconds since the start, predicted total in seconds: sum of weight x best time) each
               time it changes and at the end, from when every task has a time; it may rise where
               finalists are measured again
    skipped    an equal stage was finished before, and nothing was measured
    partial    the device was lost before the budget was spent
    """

    outcomes: Mapping[str, TuneOutcome]
    measurement: Mapping[str, Any]
    curve: tuple[tuple[float, float], ...] = ()
    skipped: bool = False
    partial: bool = False

    def _repr_html_(self) -> str | None:
        return notebook_html(self)

    @property
    def members(self) -> dict[str, Any]:
        """What it adds to run.json."""
        curve = [[seconds, total * 1e3] for seconds, total in self.curve]
        told = {each.name: each.started_by for each in self.outcomes.values() if each.started_by}
        first = {"first_proposals": told} if told else {}
        return {"tuning_curve": curve, "measurement": self.measurement, **first}


class TuningFailedError(UsageError):
    """What only the user can mend, such as a full disk; everything measured before is in the store.

    `result` is what the stage leaves in run.json.
    """

    def __init__(self, error: UsageError, report: TuneReport) -> None:
        super().__init__(error.message, where=error.where, remedy=error.remedy, also=error.also)
        self.result = StageResult(report=report.members)


class TuningInterrupted(KeyboardInterrupt):
    """Ctrl-C in the loop; everything measured is in the store.

    `result` is what the stage leaves in run.json.
    """

    def __init__(self, report: TuneReport) -> None:
        self.report = report
        self.result = StageResult(report=report.members)
        super().__init__()
