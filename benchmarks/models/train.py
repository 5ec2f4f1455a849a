"""Trains the cost model of tilewright-models, and judges it on networks and machines not seen.

    uv run python benchmarks/models/train.py benchmarks/models/zen3 benchmarks/models/zen4
    uv run python benchmarks/models/train.py benchmarks/models/zen* --save MODEL.json.gz

Each folder is one of `tilewright bench dataset`, of one machine.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from fitting import Judgement, columns_of, fit, judged, measured_fallbacks, trees_of
from trials import TaskTable, of_folder

from tilewright.host.plugin_host import PluginHost
from tilewright_models.columns import VERSION
from tilewright_models.cost_model import FORMAT, Machine

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
    tables = tables_of(given.folders)
    columns = columns_of(tables)
    print(f"{_told(tables)}, {len(columns)} columns")
    if given.save is not None:
        kept = [table for table in tables if given.without not in table.networks]
        given.save.write_bytes(packed(kept, columns_of(kept)))
        print(f"{given.save}: {given.save.stat().st_size} bytes")
        return
    print(f"{'not seen':60}  workloads  share of the best: chosen    sure  fallback")
    for each in _judgements(tables, columns):
        shares = (each.best / ms for ms in (each.chosen, each.sure, each.fallback))
        told = "".join(f"  {share:6.3f}" for share in shares)
        print(f"{each.what:60}  {each.workloads:9}  {told:>42}", flush=True)


def tables_of(folders: Sequence[Path]) -> list[TaskTable]:
    """The tables of workloads that have trials enough.

    A workload is of all networks that any of the folders says.
    """
    revisions = PluginHost.load().revisions
    every = [table for folder in folders for table in of_folder(folder, revisions)]
    networks: dict[str, frozenset[str]] = defaultdict(frozenset)
    for table in every:
        networks[table.task.workload.key] |= table.networks
    return [
        replace(table, networks=networks[table.task.workload.key])
        for table in every
        if np.isfinite(table.seconds).sum() >= FEWEST
    ]


def _judgements(tables: Sequence[TaskTable], columns: Sequence[str]) -> Iterator[Judgement]:
    """Of everything held out, on each machine."""
    fallbacks = measured_fallbacks(tables, PluginHost.load())
    for what, own, others in _held_out(tables, [table for table in fallbacks if table.weights]):
        if not others:
            continue
        members = trees_of(fit(others, columns), columns)
        for machine in dict.fromkeys(table.machine for table in own):
            here = {table: weight for table, weight in own.items() if table.machine == machine}
            yield judged(f"{what}, {_name(machine)}", here, fallbacks, members, columns)


def _held_out(
    tables: Sequence[TaskTable], weighed: Sequence[TaskTable]
) -> Iterator[tuple[str, dict[TaskTable, float], list[TaskTable]]]:
    """Each network, then each processor: its weights, and what is left to learn from."""
    for network in sorted({network for table in weighed for network in table.weights}):
        own = {table: table.weights[network] for table in weighed if network in table.weights}
        yield network, own, [table for table in tables if network not in table.networks]
    # Of other processors: not of this one with other threads.
    for processor in dict.fromkeys(table.device.fingerprint for table in weighed):
        here = [table for table in weighed if table.device.fingerprint == processor]
        own = {table: sum(table.weights.values()) for table in here}
        yield "all", own, [table for table in tables if table.device.fingerprint != processor]


def _name(machine: Machine) -> str:
    return f"{machine.model}, {machine.target}"


def packed(tables: Sequence[TaskTable], columns: Sequence[str]) -> bytes:
    """The file of a model that learned from these tables."""
    machines = list(dict.fromkeys(table.machine for table in tables))
    told = dict.fromkeys(map(_name, machines))
    members = [_slim(json.loads(member)) for member in fit(tables, columns)]
    data = {
        "format": FORMAT,
        "features": VERSION,
        "columns": columns,
        "machines": [asdict(machine) for machine in machines],
        "told": f"{_told(tables)} on {' and '.join(told)}",
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
