"""Ansor's task scheduler: the next batch goes where it is likely to save the networks most."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from tilewright.errors import UsageError
from tilewright.options import Options
from tilewright_search.models.objective import Objective

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import TaskState
    from tilewright.vocabulary.target import Target
    from tilewright.vocabulary.task import Task
    from tilewright.vocabulary.task_set import TaskSet

# Even the fastest task of its kind may have so much of its time to gain.
_LEAST_GAP = 0.02

Latency = Annotated[float, Field(gt=0)]


class GradientOptions(Options):
    """Options of the scheduler `gradient`; the names are Ansor's."""

    alpha: float = Field(0.2, ge=0, le=1, description="weight of what the last rounds gained")
    beta: float = Field(
        1.0, gt=0, description="a task may become so many times as fast as those alike; large: any"
    )
    backward_window_size: int = Field(3, ge=1, description="rounds that the last gain is seen over")
    round: int = Field(16, ge=1, description="trials that count as a round; also the warm-up")
    weights: dict[str, Annotated[float, Field(ge=0)]] = Field(
        default_factory=dict, description="importance of networks by name, 1 where not named"
    )
    latency_target_ms: Latency | dict[str, Latency] | None = Field(
        None, description="a network that is this fast gets no more; for all, or by name"
    )


class GradientScheduler:
    """Weighs tasks by the expected change of the objective a round.

    The objective is the weighted latency of the networks, no better than their targets. First each
    task gets a round of trials, the costliest first; trials of earlier runs and incumbents count.
    Then, with t rounds done and best time g:

    backward   what the last rounds gained, a round
    forward    (g - g at beta times the speed of the fastest task that is alike) / t
    gradient   slope x (alpha x backward + (1 - alpha) x forward)

    Alike are tasks of one operator. Forward is the gain of one more round where the gap to what can
    be reached shrinks as 1 / t. Ansor takes the more hopeful of g / t and the gap: its budget then
    goes to the costliest tasks, though they may have nothing left to gain.

    The slope is the objective's derivative by g, exactly: Ansor took it numerically with a step of
    100 us, which means nothing for faster kernels. A task without any success is judged as if it
    were as slow as the median of the others, so that it does not swallow the budget.

    Source: Zheng et al., Ansor, OSDI 2020, section 6.
    """

    def __init__(self, options: GradientOptions, host: PluginHost) -> None:
        self._options = options
        self._host = host
        self._objective = Objective(options.weights, options.latency_target_ms)
        self._operations: dict[Task, int | None] = {}

    def check_tasks(self, tasks: TaskSet) -> None:
        """Raise UsageError where options name a network that no task is of."""
        self._objective.check({name for entry in tasks for name in entry.networks})

    def next_task(self, states: Sequence[TaskState]) -> int | None:
        slopes = self._objective.slopes(states)
        open_tasks = [
            place for place, state in enumerate(states) if slopes[place] and not state.exhausted
        ]
        if not open_tasks:
            return None
        guess = median([s.best_seconds for s in states if s.best_seconds is not None] or [1.0])
        times = [guess if s.best_seconds is None else s.best_seconds for s in states]
        cold = [place for place in open_tasks if states[place].trials < self._options.round]
        if cold:
            return max(cold, key=lambda place: slopes[place] * times[place])
        reachable = self._reachable(states, times)

        def worth(place: int) -> float:
            return slopes[place] * self._gain(states[place], times[place], reachable[place])

        return max(open_tasks, key=worth)

    def _gain(self, state: TaskState, seconds: float, reachable: float) -> float:
        """Seconds of the task's time that a round is expected to save."""
        gap = max(seconds - reachable, _LEAST_GAP * seconds)
        forward = gap * self._options.round / state.trials
        alpha = self._options.alpha
        return alpha * self._backward(state) + (1 - alpha) * forward

    def _backward(self, state: TaskState) -> float:
        """Seconds that the last rounds gained, a round."""
        window = self._options.backward_window_size * self._options.round
        if state.best_seconds is None or len(state.curve) <= window:
            return 0.0
        before = state.curve[-1 - window]
        gained = 0.0 if before is None else before - state.best_seconds
        return gained / self._options.backward_window_size

    def _reachable(self, states: Sequence[TaskState], times: Sequence[float]) -> list[float]:
        """By task, seconds at beta times the speed of the fastest that is alike; 0: none is."""
        kinds = [(state.task.workload.operator, state.task.target) for state in states]
        counts = [self._count(state.task) for state in states]
        fastest: dict[tuple[str, Target], float] = {}
        for kind, state, count, seconds in zip(kinds, states, counts, times, strict=True):
            if state.best_seconds is not None and count is not None:
                fastest[kind] = max(fastest.get(kind, 0.0), count / seconds)
        return [
            count / (self._options.beta * fastest[kind]) if count and kind in fastest else 0.0
            for kind, count in zip(kinds, counts, strict=True)
        ]

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
