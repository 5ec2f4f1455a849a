"""The workloads of a data set, kept in a file beside its records."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.errors import UsageError
from tilewright.reading import read_file
from tilewright.vocabulary.workload import Workload
from tilewright_pipeline.writing import write_whole

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.task_set import WeightedTask

_NO_WORKLOADS = (
    OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, UsageError,
)  # fmt: skip
_DRAWS = 40
"""Tries to make a workload of another shape that its operator accepts."""
_FACTORS = (0.25, 0.5, 0.625, 0.75, 0.875, 1.125, 1.25, 1.5, 1.75, 2.0)
_MOST_OPERATIONS = 2e9
"""Of a workload that is made: a trial of more takes most of a second."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A workload of a data set.

    networks   how often it occurs in each network, by name; empty of one that was made
    near       the key of the workload that it was made from; empty of one of a network
    """

    workload: Workload
    networks: Mapping[str, float] = field(default_factory=dict)
    near: str = ""

    def to_json(self) -> dict[str, Any]:
        own = {"networks": dict(self.networks), "near": self.near}
        return {"workload": self.workload.to_json(), **own}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Entry:
        workload = Workload.from_json(data["workload"])
        return cls(workload, dict(data["networks"]), str(data["near"]))


class Workloads:
    """The distinct workloads of a data set, by key, in the order in which they came."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries: dict[str, Entry] = {}
        for entry in entries:
            self._put(entry)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    @classmethod
    def read(cls, path: Path) -> Workloads:
        """Those of a file. Raises UsageError for one that `write` did not make."""
        try:
            return cls(map(Entry.from_json, json.loads(read_file(path))["tasks"]))
        except _NO_WORKLOADS as error:
            raise UsageError(
                f"no workloads of a data set: {error}",
                where=str(path),
                remedy="name another folder, or remove the file",
            ) from None

    def write(self, path: Path) -> None:
        """Replace the file. Raises UsageError where it cannot be written."""
        told = {"tasks": [entry.to_json() for entry in self]}
        write_whole(path, json.dumps(told) + "\n", "FOLDER")

    def add(self, tasks: Iterable[WeightedTask], around: int, host: PluginHost, seed: int) -> None:
        """A network's tasks, and around each so many of other shapes. Those known stay."""
        for task in tasks:
            workload = task.task.workload
            self._put(Entry(workload, task.networks))
            for made in others_around(workload, around, host, seed):
                self._entries.setdefault(made.key, Entry(made, near=workload.key))

    def _put(self, entry: Entry) -> None:
        """Known or not: it is of the networks of both."""
        known = self._entries.setdefault(entry.workload.key, entry)
        networks = {**known.networks, **entry.networks}
        self._entries[entry.workload.key] = replace(known, networks=networks)


def others_around(workload: Workload, count: int, host: PluginHost, seed: int) -> list[Workload]:
    """Up to so many workloads of other shapes, each some of the sizes scaled wherever they stand.

    What a size is in one operand it mostly is in the others and in the attributes: channels of an
    image and of a filter, groups. What the operator does not accept is drawn again. Equal seeds
    give equal workloads.
    """
    if not count:
        return []
    generator = random.Random(f"{seed} {workload.key}")
    reference = host.reference(workload.operator)
    found: dict[str, Workload] = {}
    for _ in range(_DRAWS * count):
        if len(found) == count:
            break
        made = _scaled(workload, generator)
        try:
            made = reference.checked(made, "")
            operations = reference.operations(made)
        except (UsageError, ValueError):
            continue
        if operations <= _MOST_OPERATIONS and made.key != workload.key:
            found[made.key] = made
    return list(found.values())


def _scaled(workload: Workload, generator: random.Random) -> Workload:
    sizes = sorted({n for spec in workload.inputs for n in spec.shape if n > 7})
    if not sizes:
        return workload
    changed = generator.sample(sizes, min(len(sizes), generator.choice((1, 1, 2, 3))))
    to = {size: max(1, round(size * generator.choice(_FACTORS))) for size in changed}
    if generator.random() < 0.5:  # as channels mostly are
        to = {size: max(8, n // 8 * 8) for size, n in to.items()}
    inputs = [
        replace(spec, shape=tuple(to.get(n, n) for n in spec.shape)) for spec in workload.inputs
    ]
    attributes = {
        name: to.get(value, value) if type(value) is int else value
        for name, value in workload.attributes.items()
    }
    return replace(workload, inputs=tuple(inputs), attributes=attributes)
