"""Every task in turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.roles import TaskState


class RoundRobinScheduler:
    """Gives each task a batch in turn, whatever its weight; passes over exhausted ones.

    The turn is counted from here on, so a resumed run begins with the first task again.
    """

    def __init__(self, _options: Any, _host: Any) -> None:
        self._next = 0

    def next_task(self, states: Sequence[TaskState]) -> int | None:
        for step in range(len(states)):
            turn = (self._next + step) % len(states)
            if not states[turn].exhausted:
                self._next = turn + 1
                return turn
        return None
