"""The next batch goes to the task with the fewest trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.roles import TaskState


class RoundRobinScheduler:
    """Gives the next batch to the task with the fewest trials, whatever its weight.

    Trials of earlier runs count, so what a resumed run reaches first is what the last one did not.
    """

    def __init__(self, _options: Any, _host: Any) -> None:
        pass

    def next_task(self, states: Sequence[TaskState]) -> int | None:
        open_tasks = (place for place, state in enumerate(states) if not state.exhausted)
        return min(open_tasks, key=lambda place: states[place].trials, default=None)
