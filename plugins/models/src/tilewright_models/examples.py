"""What was fast for the workloads that were measured on a machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.workload import Workload
from tilewright_models.model_file import decoded
from tilewright_models.similar_workloads import SimilarWorkloads


@dataclass(frozen=True, slots=True)
class Example:
    """A workload that was measured, and its fastest configs, fastest first."""

    workload: Workload
    configs: tuple[ConfigEntity, ...]


class Examples:
    """Those of one machine, decoded when they are asked for: a task needs six of thousands.

    data    of a model's file: of each a workload and its configs, as JSON
    where   the file, for errors
    """

    def __init__(self, data: Sequence[Mapping[str, Any]], where: str) -> None:
        self._data: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for each in data:
            self._data[str(each["workload"]["operator"])].append(each)
        self._where = where
        self._of_operator: dict[str, tuple[list[Workload], SimilarWorkloads]] = {}

    def most_similar(self, wanted: Workload, count: int) -> list[Example]:
        """So many examples at most, the most similar first; none of another operator.

        Raises UsageError where one of them makes no sense.
        """
        workloads, similar = self._known(wanted.operator)
        data = self._data.get(wanted.operator, ())
        return [
            Example(workloads[place], decoded(_configs, data[place], self._where))
            for place in similar.most_similar(wanted, count)
        ]

    def _known(self, operator: str) -> tuple[list[Workload], SimilarWorkloads]:
        if operator not in self._of_operator:
            data = self._data.get(operator, ())
            workloads = decoded(_workloads, data, self._where)
            self._of_operator[operator] = workloads, SimilarWorkloads(workloads)
        return self._of_operator[operator]


def _workloads(data: Sequence[Mapping[str, Any]]) -> list[Workload]:
    return [Workload.from_json(each["workload"]) for each in data]


def _configs(data: Mapping[str, Any]) -> tuple[ConfigEntity, ...]:
    return tuple(map(ConfigEntity.from_json, data["configs"]))
