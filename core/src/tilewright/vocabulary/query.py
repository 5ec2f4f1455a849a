"""Which records count for a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import Conditions
from tilewright.vocabulary.task import Task


@dataclass(frozen=True, slots=True)
class Query:
    """A task, and what a record of it must be like to count; `History` makes a run's.

    conditions   equal where `constants` is; number and repeat may differ
    fingerprint  of the device: records of others are misses
    revisions    strategy name to installed revision: a record of another revision, or of a
                 strategy that is not in it, is a miss; where they are `Revisions`, a record under a
                 name of before counts as one under the present name, which its config then has
    where        narrows the configs
    """

    task: Task
    conditions: Conditions
    fingerprint: str
    revisions: Mapping[str, int]
    where: Callable[[ConfigEntity], bool] | None = None
