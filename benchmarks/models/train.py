"""Trains the cost model of tilewright-models, and judges it on networks and machines not seen.

    uv run python benchmarks/models/train.py benchmarks/models/zen3 benchmarks/models/zen4
    uv run python benchmarks/models/train.py benchmarks/models/zen* --save MODEL.json.gz

Each folder is one of `tilewright bench dataset`, of one machine.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from fitting import Judgement, columns_of, fit, judged
from trials import TaskTable, of_folder

from tilewright.host.plugin_host import PluginHost
from tilewright_models.columns import VERSION
from tilewright_models.cost_model import FORMAT

_LISTS = ("left_children", "right_children", "split_indices", "split_conditions")
_EXAMPLES = 3
"""Fastest configs of each workload that go with the model."""
FEWEST = 8
"""Trials of a workload that is learned from."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--without", help="a network of which the saved model is to see nothing")
    parser.add_argument("--save", type=Path, help="fit on everything and write the model")
    given = parser.parse_args()
    machines = {folder.name: tables_of(folder) for folder in given.folders}
    tables = [table for some in machines.values() for table in some]
    columns = columns_of(tables)
    print(f"{_told(tables)}, {len(columns)} columns")
    if given.save is not None:
        kept = [table for table in tables if given.without not in table.networks]
        given.save.write_bytes(packed(kept, columns_of(kept)))
        print(f"{given.save}: {given.save.stat().st_size} bytes")
        return
    print("not seen                workloads  share of the best, by time: chosen    sure  fallback")
    for each in _judgements(machines, columns):
        if not each.workloads:
            continue
        shares = (each.best / ms for ms in (each.chosen, each.sure, each.fallback))
        told = "".join(f"  {share:6.3f}" for share in shares)
        print(f"{each.what:24}  {each.workloads:7}  {told:>57}", flush=True)


def tables_of(folder: Path) -> list[TaskTable]:
    """The tables of a folder's workloads that have trials enough."""
    return [t for t in of_folder(folder) if np.isfinite(t.seconds).sum() >= FEWEST]


def _judgements(
    machines: Mapping[str, Sequence[TaskTable]], columns: Sequence[str]
) -> Iterator[Judgement]:
    """Each network of each machine by what has not seen the network; each machine by the others."""
    host = PluginHost.load()
    tables = [table for some in machines.values() for table in some]
    for name, some in machines.items():
        for network in sorted({network for table in some for network in table.weights}):
            own = {t: t.weights[network] for t in some if network in t.weights}
            others = [table for table in tables if network not in table.networks]
            yield judged(f"{network}, on {name}", own, others, columns, host)
        if len(machines) > 1:
            every = {table: sum(table.weights.values()) for table in some if table.weights}
            others = [table for table in tables if table not in set(some)]
            yield judged(name, every, others, columns, host)


def packed(tables: Sequence[TaskTable], columns: Sequence[str]) -> bytes:
    """The file of a model that learned from these tables."""
    machines = list(dict.fromkeys(table.machine for table in tables))
    members = [_slim(json.loads(member)) for member in fit(tables, columns)]
    data = {
        "format": FORMAT,
        "features": VERSION,
        "columns": columns,
        "models": [machine.model for machine in machines],
        "targets": [machine.target for machine in machines],
        "told": f"{_told(tables)} for {' and '.join(m.target for m in machines)}",
        "examples": [
            _example(table) | {"machine": machines.index(table.machine)} for table in tables
        ],
        "members": members,
    }
    return gzip.compress(json.dumps(data).encode(), mtime=0)


def _told(tables: Sequence[TaskTable]) -> str:
    trials = sum(len(table.configs) for table in tables)
    workloads = len({table.task.workload for table in tables})
    return f"{trials} trials of {workloads} workloads"


def _example(table: TaskTable) -> dict[str, Any]:
    """A workload with its fastest configs."""
    fastest = np.argsort(table.seconds)[:_EXAMPLES]  # failures, nan, come last
    configs = [table.configs[place].to_json() for place in fastest]
    return {"workload": table.task.workload.to_json(), "configs": configs}


def _slim(member: dict[str, Any]) -> dict[str, Any]:
    """Of xgboost's JSON, what a prediction takes."""
    learner = member["learner"]
    trees = [
        {name: tree[name] for name in _LISTS}
        for tree in learner["gradient_booster"]["model"]["trees"]
    ]
    base = {"base_score": learner["learner_model_param"]["base_score"]}
    return {
        "learner": {
            "learner_model_param": base,
            "gradient_booster": {"model": {"trees": trees}},
        }
    }


if __name__ == "__main__":
    main()
