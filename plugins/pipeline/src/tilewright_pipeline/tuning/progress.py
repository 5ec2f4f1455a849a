"""What a tuning stage tells of how far it has come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright_pipeline.context.events import TuneProgress

if TYPE_CHECKING:
    from tilewright_pipeline.context.run_context import RunContext
    from tilewright_pipeline.tuning.budget_tracker import BudgetTracker
    from tilewright_pipeline.tuning.task_track import TaskTrack


class Progress:
    """Notifies the hooks, and keeps the curve.

    curve   (seconds since the start, predicted total), a point wherever the total changed
    """

    def __init__(
        self, tracks: Sequence[TaskTrack], tracker: BudgetTracker, context: RunContext
    ) -> None:
        self._tracks, self._tracker, self._context = tracks, tracker, context
        self.curve: list[tuple[float, float]] = []

    def tell(self, chosen: TaskTrack | None) -> None:
        """Notify of the task that the next batch begins with."""
        progress = self._now(chosen)
        self._context.host.notify("tilewright_batch_scheduled", progress=progress)

    def note_total(self, *, at_the_end: bool = False) -> None:
        """Put the predicted total on the curve, once every task has a time."""
        total = self._now(None).total_seconds
        if total is None:
            return
        if at_the_end or not self.curve or self.curve[-1][1] != total:
            self.curve.append((self._tracker.seconds, total))

    def _now(self, chosen: TaskTrack | None) -> TuneProgress:
        return TuneProgress(
            tuple(track.entry for track in self._tracks),
            tuple(track.state for track in self._tracks),
            self._tracks.index(chosen) if chosen is not None else None,
            self._tracker.seconds,
            self._context.device,
            self._tracker.rest,
        )
