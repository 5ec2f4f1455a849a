"""Ansor's task scheduler: the next batch goes where it is likely to save the networks most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from pydantic import Field

from tilewright.errors import UsageError
from tilewright.options import Options

if TYPE_CHECKING:
    from tilewright.host import PluginHost
    from tilewright.roles import TaskState
    from tilewright.task import Task

# Two tasks of an operator are alike when their operations differ by less than this factor.
_GOLDEN = (1 + math.sqrt(5)) / 2


class GradientOptions(Options):
    """Options of the scheduler `gradient`; the names are Ansor's."""

    alpha: float = Field(0.2, ge=0, le=1, description="weight of what the last rounds gained")
    beta: float = Field(2.0, gt=0, description="trust in tasks that are alike; large: none")
    backward_window_size: int = Field(3, ge=1, description="rounds that the last gain is seen over")
    round: int = Field(16, ge=1, description="trials that count as a round; also the warm-up")
    latency_target_ms: float | None = Field(
        None, gt=0, description="stop when the predicted total is below"
    )


class GradientScheduler:
    """Weighs tasks by the expected change of the total, sum of weight x best seconds, a round.

    A task's weight counts its occurrences in all networks. First each task gets a round of trials,
    the costliest first; trials of earlier runs and incumbents count. Then, with t rounds done and
    best time g:

    backward   what the last rounds gained, a round
    forward    the more hopeful of: another g / t; the speed of tasks that are alike, over beta
    gradient   weight x (alpha x backward + (1 - alpha) x forward)

    The derivative of the total by g is the weight itself: Ansor took it numerically with a step of
    100 us, which means nothing for faster kernels. A task without any success is judged as if it
    were as slow as the median of the others, so that it does not swallow the budget.

    Source: Zheng et al., Ansor, OSDI 2020, section 6.
    """

    def __init__(self, options: GradientOptions, host: PluginHost) -> None:
        self._options = options
        self._host = host
        self._operations: dict[Task, int | None] = {}

    def next_task(self, states: Sequence[TaskState]) -> int | None:
        open_tasks = [place for place, state in enumerate(states) if not state.exhausted]
        if not open_tasks or self._fast_enough(states):
            return None
        guess = median([s.best_seconds for s in states if s.best_seconds is not None] or [1.0])
        times = [guess if s.best_seconds is None else s.best_seconds for s in states]
        cold = [place for place in open_tasks if states[place].trials < self._options.round]
        if cold:
            return max(cold, key=lambda place: states[place].weight * times[place])
        return max(open_tasks, key=lambda place: self._gain(place, states, times))

    def _fast_enough(self, states: Sequence[TaskState]) -> bool:
        target, times = self._options.latency_target_ms, [s.best_seconds for s in states]
        if target is None or None in times:
            return False
        total = sum(s.weight * s.best_seconds for s in states if s.best_seconds is not None)
        return total * 1e3 <= target

    def _gain(self, place: int, states: Sequence[TaskState], times: Sequence[float]) -> float:
        """Seconds of the total that a round is expected to save."""
        state, seconds = states[place], times[place]
        rounds = state.trials / self._options.round
        forward = max(seconds / rounds, seconds - self._reachable(place, states, times))
        alpha = self._options.alpha
        return state.weight * (alpha * self._backward(state) + (1 - alpha) * forward)

    def _backward(self, state: TaskState) -> float:
        """Seconds that the last rounds gained, a round."""
        window = self._options.backward_window_size * self._options.round
        if state.best_seconds is None or len(state.curve) <= window:
            return 0.0
        before = state.curve[-1 - window]
        gained = 0.0 if before is None else before - state.best_seconds
        return gained / self._options.backward_window_size

    def _reachable(self, place: int, states: Sequence[TaskState], times: Sequence[float]) -> float:
        """Seconds at the speed of the fastest task that is alike, times beta; infinite if alone."""
        own = self._count(states[place].task)
        if own is None:
            return math.inf
        speeds = [
            count / times[other]
            for other, state in enumerate(states)
            if other != place
            and state.best_seconds is not None
            and (count := self._count(state.task)) is not None
            and _alike(states[place].task, own, state.task, count)
        ]
        return self._options.beta * own / max(speeds) if speeds else math.inf

    def _count(self, task: Task) -> int | None:
        """Operations of a task, None where its operator is not installed."""
        if task not in self._operations:
            try:
                reference = self._host.reference(task.workload.operator)
            except UsageError:
                self._operations[task] = None
            else:
                self._operations[task] = reference.operations(task.workload) or None
        return self._operations[task]


def _alike(task: Task, count: int, other: Task, other_count: int) -> bool:
    """Whether two tasks have one operator, one target and operations of one magnitude."""
    same = task.workload.operator == other.workload.operator and task.target == other.target
    return same and max(count, other_count) < _GOLDEN * min(count, other_count)
