"""Which task gets the next batch: what the scheduler sees while others are under way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright_pipeline.tuning.task_track import TaskTrack


def next_track(scheduler: Any, tracks: Sequence[TaskTrack]) -> TaskTrack | None:
    """The task that the scheduler chooses; None where it chooses none now.

    It knows nothing of batches under way, and would choose one and the same task for all of them.
    So the tasks with the fewest of them are shown as they are, and all others as exhausted.
    Raises RuntimeError, which names the scheduler, where it chooses such a one.
    """
    able = [track for track in tracks if track.ended is None and not track.waits]
    if not able:
        return None
    fewest = min(track.flights for track in able)
    shown = {track for track in able if track.flights == fewest}
    states = [
        track.state if track in shown or track.ended is not None else track.hidden_state
        for track in tracks
    ]
    chosen: int | None = scheduler.next_task(states)
    if chosen is None:
        return None
    if chosen not in range(len(tracks)) or states[chosen].exhausted:
        with scheduler.blaming():
            raise RuntimeError(
                f"the scheduler chose {chosen!r}; expected the number of one of "
                f"{len(tracks)} tasks, which has not ended"
            )
    return tracks[chosen]
