"""What the model sees of a config: its knobs, its workload, and the machine."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import TYPE_CHECKING

import numpy as np

from tilewright_search.models.features import Features, Floats
from tilewright_search.models.knob_features import KnobTable, knob_features

if TYPE_CHECKING:
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.target import Target
    from tilewright.vocabulary.task import Task

VERSION = 2
"""Of the columns; a model of another version is refused. It changes when a column means
something else under the same name, here or in the features of search."""

_CACHES = ("l1_bytes", "l2_bytes", "l3_bytes")


def features(task: Task, configs: Sequence[ConfigEntity], device: Device) -> Features:
    """One row a config: of its knobs, tiles and workload, as tuners see them, and of the machine.

    Not of the lowered program: that costs some 10 ms a config, and a network has thousands.
    """
    known = knob_features(task, configs)
    about = machine_columns(device, task.target)
    of_machine = np.tile(np.array([*about.values()], np.float32), (len(configs), 1))
    return Features((*known.names, *about), np.hstack([known.rows, of_machine]))


def machine_columns(device: Device, target: Target) -> dict[str, float]:
    """log2 of the caches' bytes and of the threads, 0 of what is not known; the target's words.

    No peaks: they would have to be measured before the first answer.
    """
    words = {f"target.{n}={v}": 1.0 for n, v in target.attributes.items() if n != "threads"}
    sizes = {name: device.attributes.get(name, 0) for name in _CACHES}
    told = {**sizes, "threads": target.threads}
    numbers = {
        f"device.{name}": log2(1 + value) if isinstance(value, int | float) else 0.0
        for name, value in told.items()
    }
    return {**numbers, **words}


def aligned(given: Features, names: Sequence[str]) -> Floats:
    """The rows in the columns of these names; what they lack is 0."""
    place = {name: column for column, name in enumerate(given.names)}
    rows = np.zeros((len(given.rows), len(names)), np.float32)
    both = [(column, place[name]) for column, name in enumerate(names) if name in place]
    if both:
        to, source = map(list, zip(*both, strict=True))
        rows[:, to] = given.rows[:, source]
    return rows


class ModelRows:
    """Rows of configs in a model's columns, for whoever asks about one task again and again.

    As `features` has them; what a value of a knob says is worked out once.
    """

    def __init__(self, names: Sequence[str], device: Device, target: Target) -> None:
        place = {name: column for column, name in enumerate(names)}
        about = machine_columns(device, target).items()
        self._machine = {place[name]: number for name, number in about if name in place}
        self._width = len(names)
        self._table = KnobTable(place)

    def rows(self, task: Task, configs: Sequence[ConfigEntity]) -> Floats:
        """One row a config, of the model's width."""
        rows = np.ascontiguousarray(self._table.rows(task, configs)[:, : self._width])
        rows[:, [*self._machine]] = [*self._machine.values()]
        return rows
