"""How far one task has come in the tuning loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tilewright.config import ConfigEntity
from tilewright.events import EndReason, TuneOutcome, commonest_errors
from tilewright.measure import Conditions, Trial
from tilewright.roles import TaskState, Tuner
from tilewright.space.config_space import ConfigSpace
from tilewright.task_set import WeightedTask

# A task of which so many trials in a row failed and none ever succeeded gets no more of the budget.
_DEAD_AFTER = 64


@dataclass(slots=True, eq=False)
class TaskTrack:
    """A task's trials, its best, and whether it may get further batches.

    Of a config measured again the last measurement counts, as in the store; so the best may become
    worse.

    make_space  called when the space is first asked for: spaces of hundreds of tasks take seconds
    curve       best seconds after each trial, None while all failed
    ended       why it gets no further batch, None while it may
    """

    entry: WeightedTask
    conditions: Conditions
    make_space: Callable[[], ConfigSpace]
    tuner: Tuner | None = None
    curve: list[float | None] = field(default_factory=list)
    failures: int = 0
    ended: EndReason | None = None
    fresh: list[Trial] = field(default_factory=list)
    _improved_at: int = 0
    _last: dict[ConfigEntity, Trial] = field(default_factory=dict)
    _again: set[ConfigEntity] = field(default_factory=set)
    _disputed: dict[ConfigEntity, float] = field(default_factory=dict)
    _best: Trial | None = None
    _state: TaskState | None = None
    _space: ConfigSpace | None = None

    @property
    def space(self) -> ConfigSpace:
        """What its configs are drawn from. Raises UsageError where no strategy applies."""
        if self._space is None:
            self._space = self.make_space()
        return self._space

    def add(self, trials: Iterable[Trial], *, fresh: bool) -> None:
        """Take trials into account; `fresh` ones are of this run."""
        for trial in trials:
            failure = trial.result.failure
            if failure is None or not failure.kind.retried:
                self._count(trial)
            self.failures += failure is not None
            self.curve.append(self.best_seconds)
            if fresh:
                self.fresh.append(trial)
        self._state = None

    def unmeasured(self, configs: Iterable[ConfigEntity]) -> list[ConfigEntity]:
        """The configs that were not measured yet, each once, in order."""
        return [config for config in dict.fromkeys(configs) if config not in self._last]

    @property
    def best(self) -> Trial | None:
        """The fastest trial that counts, None while all failed."""
        return self._best

    @property
    def best_seconds(self) -> float | None:
        """Its median."""
        return self._best.result.seconds if self._best is not None else None

    @property
    def cost(self) -> float | None:
        """Seconds that the task adds to the predicted total, None while all failed."""
        seconds = self.best_seconds
        return None if seconds is None else self.entry.weight * seconds

    @property
    def unconfirmed(self) -> ConfigEntity | None:
        """What to measure again before the best can be trusted, None where it can.

        The best config where it was measured only once, among others; then one that would still
        lead by its first time but lost to its second: the third decides which of them was spoiled.
        """
        if self._best is None or len(self._last) < 2:
            return None
        if self._best.input.config not in self._again:
            return self._best.input.config
        leading = {c: first for c, first in self._disputed.items() if first < _seconds(self._best)}
        return min(leading, key=leading.__getitem__, default=None)

    def check_end(self, early_stopping: int | None) -> None:
        """End the task where nothing ever works, or nothing improved for long enough."""
        if self._best is None and len(self.curve) >= _DEAD_AFTER:
            self.end("dead")
        elif early_stopping is not None and len(self.curve) - self._improved_at >= early_stopping:
            self.end("early_stopping")

    def end(self, reason: EndReason) -> None:
        self.ended = reason
        self._state = None

    @property
    def state(self) -> TaskState:
        """What a scheduler sees."""
        if self._state is None:
            self._state = TaskState(
                self.entry.task,
                self.entry.weight,
                len(self.curve),
                self.failures,
                self.best_seconds,
                tuple(self.curve),
                self.ended is not None,
                self.entry.networks,
            )
        return self._state

    def outcome(self, reason: EndReason) -> TuneOutcome:
        """How it ended; `reason` counts where the task itself had none."""
        return TuneOutcome(
            len(self.curve),
            self.failures,
            self._best.input.config if self._best else None,
            self.best_seconds,
            self.ended or reason,
            commonest_errors(self.fresh),
            self.entry.name or self.entry.task.workload.operator,
        )

    def _count(self, trial: Trial) -> None:
        config, seconds = trial.input.config, trial.result.seconds
        if config in self._again:
            self._disputed.pop(config, None)
        elif config in self._last:
            self._again.add(config)
            first = self._last[config].result.seconds
            if first is not None and (seconds is None or seconds > first):
                self._disputed[config] = first
        self._last[config] = trial
        best = self.best_seconds
        if seconds is not None and (best is None or seconds < best):
            self._best, self._improved_at = trial, len(self.curve) + 1
        elif self._best is not None and config == self._best.input.config:
            timed = (known for known in self._last.values() if known.result.costs)
            self._best = min(timed, key=_seconds, default=None)


def _seconds(trial: Trial) -> float:
    assert trial.result.seconds is not None
    return trial.result.seconds
