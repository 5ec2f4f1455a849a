"""What the factories of tuners, builders and runners receive besides their options."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.budget import Budget
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.measure import Conditions, Trial
    from tilewright.vocabulary.task import Task

Prior: TypeAlias = "Callable[[Sequence[ConfigEntity]], Collection[float]]"
"""prior(configs): of each ln of the speed that it is taken to have, up to a constant; finite."""


def _endless() -> Budget | None:
    return None


@dataclass(frozen=True)
class TunerContext:
    """What a tuner receives; the same for every tuner of a task.

    seed        of the run; equal seeds and histories are to give equal proposals
    history     trials known when the tuner is made, oldest first: of its task, and of the others
                whose operators the run tunes
    shared      shared(key, make): one object a run, made by the first caller (cost models)
    batch       configs that `propose` is asked for at most
    device      what candidates are measured on; None outside of a run, as in a contract suite
    conditions  how this task is measured; None outside of a run
    budget      seconds or trials of the stage, for all tasks together; None where it has no end
    left        left(): what is left of that budget when asked, by the clock and the trials so far
    starts      points of the space that are likely to be fast, the likeliest first
    prior       rates configs of the task by what was learned before the run; None where nobody can
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
    starts: Sequence[ConfigEntity] = ()
    prior: Prior | None = None


@dataclass(frozen=True, slots=True)
class MeasureContext:
    """What builders and runners are made from, besides their options."""

    host: PluginHost
    device: Device
    seed: int = 0
