"""What was best for the most similar tasks, as first proposals of a task without records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.space.nearest import nearest_config

if TYPE_CHECKING:
    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.task import Task
    from tilewright_pipeline.context.run_context import RunContext

_NEIGHBOURS = 3
_LEAST_ALIKE = 0.1
_TUNED = 16
"""Trials that count of a task whose best says more than its fallback."""


def neighbour_configs(context: RunContext, task: Task, space: ConfigSpace) -> list[ConfigEntity]:
    """The best config of each of the most similar tuned tasks, as near to it as the space allows.

    None where the task has a record itself. Tasks that differ in their epilogue only are asked
    elsewhere: their configs need no change.
    """
    history = context.history
    if history.best(task) is not None:
        return []
    from tilewright_records.similarity import similarity

    own = task.workload
    alike = {
        other: similarity(own, other.workload)
        for other in context.store.tasks()
        if other.target == task.target and other.workload.anchor_key != own.anchor_key
    }
    near = sorted((one for one in alike if alike[one] >= _LEAST_ALIKE), key=lambda o: -alike[o])
    tuned = (one for one in near if history.count(one).trials >= _TUNED)
    best = [history.best(one) for one, _ in zip(tuned, range(_NEIGHBOURS), strict=False)]
    found = (nearest_config(space, one.config) for one in best if one is not None)
    return [config for config in found if config is not None]
