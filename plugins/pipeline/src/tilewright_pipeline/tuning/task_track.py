"""How far one task has come in the tuning loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from tilewright.plugins.blamed import Blamed
from tilewright.roles import TaskState
from tilewright.space.config_space import ConfigSpace
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import Conditions, Trial
from tilewright.vocabulary.race import Place, Standings
from tilewright.vocabulary.task_set import WeightedTask
from tilewright_pipeline.context.events import EndReason, TuneOutcome
from tilewright_pipeline.context.time_bounds import TimeBounds
from tilewright_pipeline.dispatch.unmeasured import Advice, advice

if TYPE_CHECKING:
    from tilewright.host.contexts import Prior
    from tilewright_pipeline.context.run_context import RunContext

# A task of which so many trials in a row failed and none ever succeeded gets no more of the budget.
_DEAD_AFTER = 64
_FINALISTS = 4


@dataclass(slots=True, eq=False)
class TaskTrack:
    """A task's trials, its best, and whether it may get further batches.

    As in the store (see `Ranked`), of a config measured again the last measurement counts, and one
    that had lost to finalists before they were measured in turns is taken to slow down as they
    did. So the best may become worse.

    make_space  called when the space is first asked for: spaces of hundreds of tasks take seconds
    searched    the space without alternatives that cannot beat the best, after `narrow`
    best        the fastest trial that counts, None while all failed
    curve       best seconds after each trial, None while all failed
    ended       why it gets no further batch, None while it may
    flights     batches under way that have configs of it
    pending     those configs
    waits       whether its tuner had nothing to propose that is not pending
    started_by  what the first proposals rest on, for people; empty where they rest on nothing
    """

    entry: WeightedTask
    conditions: Conditions
    make_space: Callable[[], ConfigSpace]
    tuner: Blamed | None = None
    curve: list[float | None] = field(default_factory=list)
    failures: int = 0
    best: Trial | None = None
    ended: EndReason | None = None
    fresh: list[Trial] = field(default_factory=list)
    flights: int = 0
    pending: set[ConfigEntity] = field(default_factory=set)
    waits: bool = False
    started_by: str = ""
    _improved_at: int = 0
    _trials: list[Trial] = field(default_factory=list)
    _standings: Standings[ConfigEntity] = field(default_factory=Standings)
    _state: TaskState | None = None
    _hidden_state: TaskState | None = None
    _space: ConfigSpace | None = None
    _searched: ConfigSpace | None = None
    _bounds: TimeBounds | None = None
    _advice: tuple[Advice | None] | None = None

    @property
    def space(self) -> ConfigSpace:
        """What its configs are drawn from. Raises UsageError where no strategy applies."""
        if self._space is None:
            self._space = self.make_space()
        return self._space

    @property
    def searched(self) -> ConfigSpace:
        return self._searched or self.space

    @property
    def spared(self) -> int:
        """How many alternatives get no trial."""
        return len(self.space.alternatives) - len(self.searched.alternatives)

    def narrow(self, context: RunContext) -> bool:
        """Leave out of `searched` what cannot beat the best so far; whether that changed it."""
        if self.best is None:
            return False
        if self._bounds is None:
            self._bounds = TimeBounds.of(self.entry.task, self.space, context)
        names = [each.name for each in self.searched.alternatives]
        best = self.best.input.config.strategy
        self._searched = self._bounds.promising(self.space, self.best_seconds, best)
        return names != [each.name for each in self._searched.alternatives]

    def advice(self, context: RunContext) -> Advice | None:
        """What plugins know of the task without a trial; asked once."""
        if self._advice is None:
            self._advice = (advice(self.entry.task, self.space, context.host, context.device),)
        return self._advice[0]

    def lead(self, context: RunContext, tuner: str) -> tuple[list[ConfigEntity], Prior | None]:
        """Starts, and what rates configs, where a tuner has a model that can go on from there."""
        found = self.advice(context)
        if found is None or "model" not in context.host.component("tuner", tuner).capabilities:
            return [], None
        self.started_by = found.told
        starts = [config for config in found.starts if config in self.searched]
        return starts, found.prior

    def take_off(self, configs: Iterable[ConfigEntity]) -> None:
        """Count a batch with these as under way."""
        self.flights += 1
        self.pending.update(configs)

    def land(self, trials: Sequence[Trial]) -> None:
        """Take a batch that came back into account."""
        self.flights -= 1
        self.pending.difference_update(trial.input.config for trial in trials)
        self.waits = False
        self.add(trials, fresh=True)

    def add(self, trials: Iterable[Trial], *, fresh: bool) -> None:
        """Take trials into account; `fresh` ones are of this run."""
        for trial in trials:
            self._trials.append(trial)
            if not trial.result.spoiled:
                self._count(trial)
            self.failures += trial.result.failure is not None
            self.curve.append(self.best_seconds)
            if fresh:
                self.fresh.append(trial)
        self._state = None

    def unmeasured(self, configs: Iterable[ConfigEntity]) -> list[ConfigEntity]:
        """The configs that were not measured yet and are not pending, each once, in order."""
        known = self._standings.last
        return [c for c in dict.fromkeys(configs) if c not in known and c not in self.pending]

    @property
    def best_seconds(self) -> float | None:
        """The median of the best."""
        return self.best.result.seconds if self.best is not None else None

    @property
    def cost(self) -> float | None:
        """Seconds that the task adds to the predicted total, None while all failed."""
        seconds = self.best_seconds
        return None if seconds is None else self.entry.weight * seconds

    @property
    def finalists(self) -> list[ConfigEntity]:
        """What to measure in turns before the best can be trusted, fastest first.

        None where the best was measured so, or has no rival.
        """
        if self.best is None or _in_turns(self.best):
            return []
        rivals = (place for place in self._standings.ranked() if not place.lost)
        first = [self._trials[place.number].input.config for place in islice(rivals, _FINALISTS)]
        return first if len(first) > 1 else []

    @property
    def confirmed(self) -> bool:
        """Whether finalists were measured in turns."""
        return bool(self._standings.raced)

    @property
    def overtaken(self) -> bool:
        """Whether finalists were measured in turns, but the best is one that was not."""
        return self.confirmed and self.best is not None and not _in_turns(self.best)

    def check_end(self, early_stopping: int | None) -> None:
        """End the task where nothing ever works, or nothing improved for long enough."""
        if self.best is None and len(self.curve) >= _DEAD_AFTER:
            self.end("dead")
        elif early_stopping is not None and len(self.curve) - self._improved_at >= early_stopping:
            self.end("early_stopping")

    def end(self, reason: EndReason) -> None:
        self.ended = reason
        self._state = None

    def run_out(self) -> None:
        """Its tuner has nothing fresh to propose: it ends, or waits for what is pending."""
        if self.flights:
            self.waits = True
        else:
            self.end("exhausted")

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
                self.best.input.config.strategy if self.best is not None else None,
            )
            self._hidden_state = None
        return self._state

    @property
    def hidden_state(self) -> TaskState:
        """The same as of an exhausted task, which no scheduler chooses."""
        if self._state is None or self._hidden_state is None:
            self._hidden_state = replace(self.state, exhausted=True)
        return self._hidden_state

    def outcome(self, reason: EndReason) -> TuneOutcome:
        """How it ended; `reason` counts where the task itself had none."""
        return TuneOutcome(
            len(self.curve),
            self.failures,
            self.best.input.config if self.best else None,
            self.best_seconds,
            self.ended or reason,
            commonest_errors(self.fresh),
            self.entry.name or self.entry.task.workload.operator,
            self.started_by,
        )

    def _count(self, trial: Trial) -> None:
        number, config, seconds = len(self.curve), trial.input.config, trial.result.seconds
        led, again = self.best, config in self._standings.last
        self._standings.add(config, seconds, number, in_turns=_in_turns(trial))
        if again or led is None:
            first = next(self._standings.ranked(), None)
            self.best = None if first is None else self._trials[first.number]
        elif seconds is not None and self._place(trial) < self._place(led):
            self.best = trial
        better = led is None or (seconds is not None and seconds < _seconds(led))
        if self.best is trial and better and not _in_turns(trial):
            self._improved_at = number + 1

    def _place(self, trial: Trial) -> Place:
        last = self._standings.last[trial.input.config]
        return Place.of(*last, self._standings.races())


Batch: TypeAlias = Sequence[tuple[TaskTrack, ConfigEntity]]
"""Candidates that are measured together, each with its task."""


def by_track(batch: Batch) -> dict[TaskTrack, list[ConfigEntity]]:
    """The configs of a batch by task, in order."""
    found: dict[TaskTrack, list[ConfigEntity]] = {}
    for track, config in batch:
        found.setdefault(track, []).append(config)
    return found


def commonest_errors(trials: Iterable[Trial]) -> tuple[str, ...]:
    """The three most frequent failures as `kind: line (n times)`, most frequent first."""
    failures = (trial.result.failure for trial in trials)
    counted = Counter(failure.in_one_line() for failure in failures if failure is not None)
    return tuple(f"{text} ({count} times)" for text, count in counted.most_common(3))


def _in_turns(trial: Trial) -> bool:
    return trial.input.conditions.turns > 1


def _seconds(trial: Trial) -> float:
    assert trial.result.seconds is not None
    return trial.result.seconds
