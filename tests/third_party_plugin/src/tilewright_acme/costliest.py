"""Spends the budget where the network spends its time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.roles import TaskState


class CostliestFirst:
    """The task with the most weighted seconds for each trial it had; those without a time come first."""

    def __init__(self, options: Any, host: Any) -> None:
        pass

    def next_task(self, states: Sequence[TaskState]) -> int | None:
        open_tasks = [place for place, state in enumerate(states) if not state.exhausted]
        return max(open_tasks, key=lambda place: _cost(states[place]), default=None)


def _cost(state: TaskState) -> tuple[float, int]:
    if state.best_seconds is None:
        return math.inf, -state.trials
    return state.weight * state.best_seconds / state.trials, 0
