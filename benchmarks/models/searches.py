"""Trials of a search on recorded spaces, with and without a model that leads its first proposals.

    uv run python benchmarks/models/searches.py benchmarks/models/zen3 [--spaces '*-zen3']
        [--machine-left-out | --neighbours]

The model learns from the trials of all folders, less those of workloads that have a recorded space,
whatever their epilogue, and less those of the first folder's processor if it is left out. Every
space is taken to be of the first folder's device, also where it is not. With `--neighbours` nothing
leads but the best configs of the most similar tasks of the first folder, as a run finds them in its
records.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from fitting import columns_of
from train import packed, tables_of
from trials import TaskTable

from tilewright.host.contexts import Prior
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_cli.bench.dataset_device import read_device
from tilewright_models.advisor import Advisor
from tilewright_models.cost_model import CostModel, Machine
from tilewright_pipeline.tuning.neighbours import neighbour_configs
from tilewright_records.spaces.recorded_space import RecordedSpace
from tilewright_search.cli.recorded_spaces import recorded_spaces
from tilewright_search.cli.searches.comparison import Comparison
from tilewright_search.cli.searches.tuner_search import tuner_search


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--machine-left-out", action="store_true", help="that of the first folder")
    either.add_argument("--neighbours", action="store_true", help="in place of a model")
    parser.add_argument("--spaces", help="as of `bench tuners`; all installed ones by default")
    parser.add_argument("--tuners", default="xgb,evolutionary")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--limit", type=int, default=2000, help="trials after which a search ends")
    parser.add_argument("--json", type=Path, help="write the figures")
    given = parser.parse_args()
    host = PluginHost.load()
    spaces = recorded_spaces(given.spaces)
    device = read_device(given.folders[0])
    tables = tables_of(given.folders)
    anchors = {space.task.workload.anchor_key for space in [*spaces, *recorded_spaces(None)]}
    tables = [table for table in tables if table.task.workload.anchor_key not in anchors]
    if given.machine_left_out:
        own = Machine.of(device, Target("x86")).processor
        tables = [table for table in tables if table.machine.processor != own]
    known = _records([table for table in tables if table.device == device])
    model = None if given.neighbours else CostModel.read(packed(tables, columns_of(tables)), "")

    def lead(space: RecordedSpace) -> tuple[tuple[ConfigEntity, ...], Prior | None]:
        if model is None:
            return tuple(neighbour_configs(known, space.task, space.space)), None
        advisor = Advisor(model, Machine.of(device, space.task.target), host)
        starts = advisor.starts(space.task, space.space)
        return starts, advisor.prior(space.task, space.space, device)

    found = []
    for name in given.tuners.split(","):
        searches = {
            name: tuner_search(host, Choice(name)),
            f"{name}, led": tuner_search(host, Choice(name), lead),
        }
        comparison = Comparison(spaces, searches, given.seeds, given.limit)
        for lines in comparison.play():
            print("\n".join(lines), flush=True)
        found.append(comparison.to_json())
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def _records(tables: Sequence[TaskTable]) -> Any:
    """What `neighbour_configs` asks of a run's context, where these are all of its records."""
    of_task = {table.task: table for table in tables}

    def best(task: Task) -> Any:
        table = of_task.get(task)
        fastest = None if table is None else table.configs[int(np.nanargmin(table.seconds))]
        return fastest and SimpleNamespace(config=fastest)

    def count(task: Task) -> Any:
        return SimpleNamespace(trials=len(of_task[task].configs))

    return SimpleNamespace(
        history=SimpleNamespace(best=best, count=count),
        store=SimpleNamespace(tasks=lambda: list(of_task)),
    )


if __name__ == "__main__":
    main()
