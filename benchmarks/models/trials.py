"""Trials of data sets, as tables of features."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.strategies.strategy import strategy_of
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.task import Task
from tilewright_cli.bench.dataset_device import read_device
from tilewright_cli.bench.dataset_trials import dataset_trials
from tilewright_cli.bench.workloads import Workloads
from tilewright_models.columns import features
from tilewright_models.cost_model import Machine
from tilewright_search.models.features import Features, Floats


@dataclass(frozen=True, eq=False)
class TaskTable:
    """One task's trials on one device.

    networks  how often the task occurs in each; those of the workload that it was made from, where
              it is one of other shapes: it is held out with them
    weight    how often it occurs in all networks; 0 of one that was made
    seconds   the least sample of each config, nan of a failure: others ran beside
    """

    task: Task
    device: Device
    networks: frozenset[str]
    weights: dict[str, float]
    configs: list[ConfigEntity]
    seconds: Floats
    features: Features

    @property
    def machine(self) -> Machine:
        """What was measured on."""
        return Machine.of(self.device, self.task.target)


def of_folder(folder: Path, revisions: Mapping[str, int]) -> list[TaskTable]:
    """The trials that `tilewright bench dataset` left in a folder, none of an earlier revision."""
    device = read_device(folder)
    entries = {entry.workload.key: entry for entry in Workloads.read(folder / "tasks.json")}
    own: dict[Task, dict[ConfigEntity, float]] = defaultdict(dict)
    for record in dataset_trials(folder):
        known = record.task.workload.key in entries
        if known and revisions.get(strategy_of(record.config.strategy)) == record.revision:
            before = own[record.task].get(record.config, np.nan)
            least = min(record.trial.result.costs, default=np.nan)
            own[record.task][record.config] = float(np.fmin(before, least))
    found = []
    for task, trials in own.items():
        entry = entries[task.workload.key]
        source = entry if entry.networks else entries[entry.near]
        networks, weights = frozenset(source.networks), dict(entry.networks)
        configs, seconds = [*trials], np.array([*trials.values()], np.float32)
        told = features(task, configs, device)
        found.append(TaskTable(task, device, networks, weights, configs, seconds, told))
    return found
