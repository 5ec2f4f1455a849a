"""The next batch goes to the task with the fewest trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.roles import TaskState


class RoundRobinScheduler:
    """Gives the next batch to the task with the fewest trials.

    Trials of earlier runs count, so what a resumed run reaches first is what the last one did not.
    Of several such tasks that in which the networks spend most comes first, before it one without a
    time: a budget that does not go round goes where there is most to gain.
    """

    def __init__(self, _options: Any, _host: Any) -> None:
        pass

    def next_task(self, states: Sequence[TaskState]) -> int | None:
        open_tasks = (place for place, state in enumerate(states) if not state.exhausted)
        return min(open_tasks, key=lambda place: _turn(states[place]), default=None)


def _turn(state: TaskState) -> tuple[int, float]:
    seconds = math.inf if state.best_seconds is None else state.best_seconds
    return state.trials, -state.weight * seconds
