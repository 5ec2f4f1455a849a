"""The candidates of a batch as they cross: what many have in common stands there once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import Conditions, MeasureInput
from tilewright.vocabulary.task import Task


def inputs_to_json(inputs: Sequence[MeasureInput]) -> dict[str, Any]:
    """Members of a request: `tasks`, `conditions`, and `inputs`, which number them.

    An input is [number of the task, strategy, values, number of the conditions].
    """
    tasks: dict[str, tuple[int, Task]] = {}
    conditions: dict[Conditions, int] = {}
    rows = [
        [
            tasks.setdefault(each.task.key, (len(tasks), each.task))[0],
            each.config.strategy,
            each.config.values,
            conditions.setdefault(each.conditions, len(conditions)),
        ]
        for each in inputs
    ]
    return {
        "tasks": [task.to_json() for _, task in tasks.values()],
        "conditions": [each.to_json() for each in conditions],
        "inputs": rows,
    }


def inputs_from_json(data: Mapping[str, Any]) -> list[MeasureInput]:
    """The inverse of `inputs_to_json`."""
    tasks = [*map(Task.from_json, data["tasks"])]
    conditions = [*map(Conditions.from_json, data["conditions"])]
    return [
        MeasureInput(tasks[task], ConfigEntity(strategy, values), conditions[condition])
        for task, strategy, values, condition in data["inputs"]
    ]
