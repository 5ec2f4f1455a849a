"""What a run has told so far, as one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tilewright_pipeline.measuring.noise import is_disturbed, is_noisy

if TYPE_CHECKING:
    from tilewright.vocabulary.budget import Budget
    from tilewright.vocabulary.measure import Trial
    from tilewright_cli.progress.machine_watch import MachineState
    from tilewright_pipeline.context.events import RunInfo, TuneProgress


@dataclass(frozen=True, slots=True)
class RunView:
    """A run at one moment; each event makes a new one, so another thread may draw it.

    All times are those of one monotonic clock, in seconds. What is told is of the stage at work.

    now          the moment
    machine      what disturbs measuring there; None where that is not known
    run          None of a task that is tuned by itself
    stage        number of the stage at work, from 0
    tuning       where its tuning stands, as told at `told_at`; None where it does not tune
    whole        what was left of its budget when tuning began, at `tuning_start`
    totals       (seconds since tuning began, predicted total), one wherever the total changed
    measured     trials of this run, `timed` those with a time, `disturbed` those that were not calm
    failures     by kind
    devices      that the runner names, where it has several
    """

    now: float = 0.0
    machine: MachineState | None = None
    run: RunInfo | None = None
    stage: int = 0
    stage_start: float = 0.0
    tuning: TuneProgress | None = None
    told_at: float = 0.0
    tuning_start: float = 0.0
    whole: Budget | None = None
    totals: tuple[tuple[float, float], ...] = ()
    measured: int = 0
    timed: int = 0
    disturbed: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)
    devices: frozenset[str] = frozenset()

    # --- events ----------------------------------------------------------------------------------

    def at(self, now: float, machine: MachineState | None) -> RunView:
        """Time has passed."""
        return replace(self, now=now, machine=machine)

    def stage_ended(self, now: float) -> RunView:
        """The next stage is at work, of which nothing is known."""
        return RunView(now, self.machine, self.run, self.stage + 1, stage_start=now)

    def scheduled(self, tuning: TuneProgress, now: float) -> RunView:
        """A batch is about to be measured."""
        view = self
        if self.tuning is None:
            whole = tuning.left
            if whole is not None and whole.seconds is not None:
                whole = replace(whole, seconds=whole.seconds + tuning.seconds)
            view = replace(view, tuning_start=now - tuning.seconds, whole=whole)
        total = tuning.total_seconds
        if total and total != (view.totals[-1][1] if view.totals else None):
            view = replace(view, totals=(*view.totals, (now - view.tuning_start, total)))
        return replace(view, now=now, tuning=tuning, told_at=now)

    def took(self, trials: Sequence[Trial]) -> RunView:
        """Trials were measured."""
        results = [trial.result for trial in trials]
        failures = dict(self.failures)
        for result in results:
            if result.failure is not None:
                kind = str(result.failure.kind)
                failures[kind] = failures.get(kind, 0) + 1
        return replace(
            self,
            measured=self.measured + len(results),
            timed=self.timed + sum(bool(result.costs) for result in results),
            disturbed=self.disturbed + sum(is_disturbed(result.costs) for result in results),
            failures=failures,
            devices=self.devices.union(result.device for result in results if result.device),
        )

    # --- what follows ----------------------------------------------------------------------------

    @property
    def stage_name(self) -> str | None:
        """None where no stage is at work."""
        if self.run is None or self.stage >= len(self.run.stages):
            return None
        return self.run.stages[self.stage]

    @property
    def noisy_share(self) -> float | None:
        """Share of the trials that were disturbed; None while that is as on a calm machine."""
        return self.disturbed / self.timed if is_noisy(self.disturbed, self.timed) else None

    @property
    def rate(self) -> float | None:
        """Trials a second since tuning began; None until there were some."""
        seconds = self.now - self.tuning_start
        return self.measured / seconds if self.measured and seconds > 0 else None

    @property
    def left(self) -> Budget | None:
        """Of the budget; None where there is none."""
        if self.tuning is None or self.tuning.left is None:
            return None
        return self.tuning.left.less(self.now - self.told_at, 0)

    @property
    def left_seconds(self) -> float | None:
        """Of the stage, as far as a budget tells; None where it is not known."""
        if self.left is None or self.left.trials is None:
            return None if self.left is None else self.left.seconds
        return self.left.trials / self.rate if self.rate else None

    @property
    def done_share(self) -> float | None:
        """Share of this run's part of the budget that is spent; None where there is none."""
        left, whole = self.left, self.whole
        if left is None or whole is None:
            return None
        rest, all_of_it = left.seconds, whole.seconds
        if left.trials is not None:
            rest, all_of_it = left.trials, whole.trials
        return 1 - (rest or 0) / all_of_it if all_of_it else 1.0
