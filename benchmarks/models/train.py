"""Trains the cost model of tilewright-models, and judges it by leaving out whole networks.

    uv run python benchmarks/models/train.py benchmarks/models/zen3
    uv run python benchmarks/models/train.py benchmarks/models/zen3 --save MODEL.json.gz

The folder is one of `tilewright bench dataset`.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
from fitting import Judgement, columns_of, fit, judged
from trials import TaskTable, of_folder, of_spaces

from tilewright.host.plugin_host import PluginHost
from tilewright_models.columns import VERSION
from tilewright_models.cost_model import FORMAT
from tilewright_pipeline.context.device_peaks import with_peaks
from tilewright_pipeline.context.find_device import find_device

_LISTS = ("left_children", "right_children", "split_indices", "split_conditions")
_EXAMPLES = 3
"""Fastest configs of each workload that go with the model."""
FEWEST = 8
"""Trials of a workload that is learned from."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", default="x86:threads=1")
    parser.add_argument("--spaces", type=int, default=256, help="configs of each recorded space")
    parser.add_argument("--without", help="a network of which the saved model is to see nothing")
    parser.add_argument("--save", type=Path, help="fit on everything and write the model")
    given = parser.parse_args()
    host = PluginHost.load()
    target = host.resolve_target(given.target)
    backend = host.backend(target.kind)
    device = with_peaks(backend, find_device(host, target, None), target)
    tables = [
        table
        for table in [
            *of_folder(given.folder, device),
            *of_spaces(host, given.spaces),
        ]
        if np.isfinite(table.seconds).sum() >= FEWEST
    ]
    columns = columns_of(tables)
    trials = sum(len(table.configs) for table in tables)
    print(f"{trials} trials of {len(tables)} workloads, {len(columns)} columns")
    networks = sorted({name for table in tables for name in table.weights})
    if given.save is not None:
        kept = [table for table in tables if given.without not in table.networks]
        told = {"model": device.attributes["model"], "target": str(target)}
        _save(given.save, kept, columns_of(kept), **told)
        return
    found = [judged(name, tables, columns, host) for name in networks]
    _print([each for each in found if each is not None])


def _print(found: list[Judgement]) -> None:
    print("share of the best, weighted by time   workloads  chosen    sure  fallback")
    for each in found:
        shares = (each.best / ms for ms in (each.chosen, each.sure, each.fallback))
        print(f"{each.network:36}  {each.workloads:9}" + "".join(f"  {s:6.3f}" for s in shares))


def _save(
    path: Path, tables: list[TaskTable], columns: tuple[str, ...], *, model: str, target: str
) -> None:
    path.write_bytes(packed(tables, columns, model=model, target=target))
    print(f"{path}: {path.stat().st_size} bytes")


def packed(tables: list[TaskTable], columns: tuple[str, ...], *, model: str, target: str) -> bytes:
    """The file of a model that learned from these tables, on a device, for a target."""
    trials = sum(len(table.configs) for table in tables)
    members = [_slim(json.loads(member)) for member in fit(tables, columns)]
    data = {
        "format": FORMAT,
        "features": VERSION,
        "columns": columns,
        "devices": [model],
        "targets": [target],
        "told": f"{trials} trials of {len(tables)} workloads, on {model}",
        "examples": [_example(t) for t in tables if t.networks and str(t.task.target) == target],
        "members": members,
    }
    return gzip.compress(json.dumps(data).encode(), mtime=0)


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
