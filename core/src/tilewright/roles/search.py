"""The roles of tuners and task schedulers: which config is measured next, and of which task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tilewright.plugins.host import PluginHost
    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.budget import Budget
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.measure import Conditions, Trial
    from tilewright.vocabulary.task import Task


def _endless() -> Budget | None:
    return None


@dataclass(frozen=True)
class TunerContext:
    """What a tuner receives; the same for every tuner of a task.

    seed        of the run; equal seeds and histories are to give equal proposals
    history     trials of all tasks known when the tuner is made, oldest first, its own included
    shared      shared(key, make): one object a run, made by the first caller (cost models)
    batch       configs that `propose` is asked for at most
    device      what candidates are measured on; None outside of a run, as in a contract suite
    conditions  how this task is measured; None outside of a run
    budget      seconds or trials of the stage, for all tasks together; None where it has no end
    left        left(): what is left of that budget when asked, by the clock and the trials so far
    """

    task: Task
    space: ConfigSpace
    seed: int
    history: Sequence[Trial]
    host: PluginHost
    shared: Callable[[Any, Callable[[], Any]], Any]
    batch: int = 16
    device: Device | None = None
    conditions: Conditions | None = None
    budget: Budget | None = None
    left: Callable[[], Budget | None] = _endless


class Tuner(Protocol):
    """Proposes configs, 16 at a time or as many as its option `batch` says; learns from trials.

    >>> tuner = factory(options, context)   # knows context.history
    >>> tuner.propose(16)                   # 16 feasible configs, none known from before
    >>> tuner.observe(trials)               # in order of measurement; may hold other configs
    >>> tuner.propose(16)                   # fewer: running out; empty: exhausted
    """

    def propose(self, count: int) -> Sequence[ConfigEntity]:
        """At most `count` points of the space, none twice; none at all ends the task's search."""
        ...

    def observe(self, trials: Sequence[Trial]) -> None:
        """Learn from a batch; `trial.result.seconds` is None for a failure."""
        ...


@dataclass(frozen=True, slots=True)
class TaskState:
    """How far a task has come, as a scheduler sees it.

    weight          how often the task occurs, in all networks together
    trials          measured so far, those of earlier runs and failures counted
    best_seconds    None until one succeeded
    curve           best seconds after each trial, None while all failed; rises if one did not last
    exhausted       it must not be chosen: nothing works, nothing is left or nothing improves
    networks        how often the task occurs in each network, by name; empty for a task by itself
    """

    task: Task
    weight: float
    trials: int
    failures: int
    best_seconds: float | None
    curve: tuple[float | None, ...] = ()
    exhausted: bool = False
    networks: Mapping[str, float] = field(default_factory=dict)


class TaskScheduler(Protocol):
    """Decides which task is next, from the states alone: a resumed run makes a new scheduler."""

    def next_task(self, states: Sequence[TaskState]) -> int | None:
        """Index of the task that gets the next batch; None where none is worth one."""
        ...
