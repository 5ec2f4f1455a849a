"""The input of a tuning stage: the distinct tasks of one or more networks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from tilewright.vocabulary.task import Task


@dataclass(frozen=True, slots=True)
class WeightedTask:
    """A task, how often it occurs, and a name for people (that of its first node).

    networks   how often it occurs in each network, by name; the weight is their sum
    """

    task: Task
    weight: float = 1.0
    name: str = ""
    networks: Mapping[str, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class TaskSet:
    """Distinct tasks with their weights, in order of first occurrence."""

    tasks: tuple[WeightedTask, ...] = ()

    def __repr__(self) -> str:
        return f"<TaskSet of {len(self.tasks)} tasks>"

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[WeightedTask]:
        return iter(self.tasks)

    @classmethod
    def merged(cls, tasks: Iterable[WeightedTask]) -> TaskSet:
        """Equal tasks as one: weights add up, the first name stays."""
        found: dict[Task, WeightedTask] = {}
        for entry in tasks:
            known = found.get(entry.task)
            if known is None:
                found[entry.task] = entry
            else:
                weight = known.weight + entry.weight
                networks = Counter(known.networks) + Counter(entry.networks)
                found[entry.task] = WeightedTask(entry.task, weight, known.name, networks)
        return cls(tuple(found.values()))


@runtime_checkable
class ChecksTasks(Protocol):
    """An optional part of a `TaskScheduler` or a `Runner`: it checks that it can do the tasks."""

    def check_tasks(self, tasks: TaskSet) -> None:
        """Raise UsageError where tasks do not fit options or memory; before any measurement."""
