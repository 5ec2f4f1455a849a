"""The roles of tuners and task schedulers: which config is measured next, and of which task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.measure import Trial
    from tilewright.vocabulary.task import Task


class Tuner(Protocol):
    """Proposes configs, 16 at a time or as many as its option `batch` says; learns from trials.

    >>> tuner = factory(options, context)   # knows context.history
    >>> tuner.propose(16)                   # 16 feasible configs, none known from before
    >>> tuner.observe(trials)               # in order of measurement; may hold other configs
    >>> tuner.propose(16)                   # fewer: running out; empty: exhausted
    """

    def propose(self, count: int) -> Sequence[ConfigEntity]:
        """At most `count` points of the space, none twice; none at all ends the task's search.

        Where several devices measure, it is asked again before it observes what it proposed; none
        then means that it waits for that.
        """

    def observe(self, trials: Sequence[Trial]) -> None:
        """Learn from a batch; `trial.result.seconds` is None for a failure."""


@dataclass(frozen=True, slots=True)
class TaskState:
    """How far a task has come, as a scheduler sees it.

    weight          how often the task occurs, in all networks together
    trials          measured so far, those of earlier runs and failures counted
    best_seconds    None until one succeeded
    curve           best seconds after each trial, None while all failed; rises if one did not last
    exhausted       it must not be chosen: nothing works, nothing is left or nothing improves, or
                    more of its batches are under way than of another
    networks        how often the task occurs in each network, by name; empty for a task by itself
    strategy        of the best, by its alternative's name; None until one succeeded
    """

    task: Task
    weight: float
    trials: int
    failures: int
    best_seconds: float | None
    curve: tuple[float | None, ...] = ()
    exhausted: bool = False
    networks: Mapping[str, float] = field(default_factory=dict)
    strategy: str | None = None


class TaskScheduler(Protocol):
    """Decides which task is next, from the states alone: a resumed run makes a new scheduler."""

    def next_task(self, states: Sequence[TaskState]) -> int | None:
        """Index of the task that gets the next batch; None where none is worth one."""
