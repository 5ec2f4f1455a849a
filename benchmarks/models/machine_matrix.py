"""What the best configs of each machine reach on each other one, over workloads that both measured.

    uv run python benchmarks/models/machine_matrix.py benchmarks/models/zen*

Each folder is a data set of one machine. Of the configs of a workload that both measured, the
fastest there is looked up here, beside the fastest that was measured here. Nothing is measured.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import inf
from pathlib import Path
from statistics import median

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.workload import Workload
from tilewright_cli.bench.dataset_trials import dataset_trials
from tilewright_cli.bench.workloads import Workloads

FEWEST = 8
"""Configs of a workload that both machines measured."""

Seconds = Mapping[ConfigEntity, float]
"""The least sample of each config; infinite of a failure."""


@dataclass(frozen=True)
class Transfer:
    """What the best configs of one machine reach on another.

    share      of the speed of the fastest config that was measured here, by the time that the
               networks' workloads take, each as often as it occurs here
    median     of all workloads, those made around the networks' too
    workloads  that both measured, and how many configs of them
    """

    there: str
    here: str
    share: float
    median: float
    workloads: int
    configs: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    print("best configs of | on | share of the optimum | median | workloads | configs of both")
    for one in matrix(options.folders, options.threads):
        shares = f"{one.share:.3f} | {one.median:.3f}"
        print(f"{one.there} | {one.here} | {shares} | {one.workloads} | {one.configs}")


def matrix(folders: Sequence[Path], threads: int) -> Iterator[Transfer]:
    """One for each ordered pair of machines that have workloads in common."""
    trials = {folder: _by_workload(folder, threads) for folder in folders}
    for there, here in permutations(folders, 2):
        weights = {
            entry.workload: sum(entry.networks.values())
            for entry in Workloads.read(here / "tasks.json")
        }
        best = chosen = 0.0
        configs, shares = 0, []
        for workload in trials[there].keys() & trials[here].keys():
            theirs, ours = trials[there][workload], trials[here][workload]
            both = [config for config in theirs if config in ours]
            own = [seconds for seconds in ours.values() if seconds < inf]
            if len(both) < FEWEST or not own:
                continue
            # A failure costs what the slowest config does, as where a model is judged.
            taken = min(ours[min(both, key=theirs.__getitem__)], max(own))
            best += weights[workload] * min(own)
            chosen += weights[workload] * taken
            configs += len(both)
            shares.append(min(own) / taken)
        if chosen:
            share = best / chosen
            yield Transfer(there.name, here.name, share, median(shares), len(shares), configs)


def _by_workload(folder: Path, threads: int) -> dict[Workload, Seconds]:
    found: dict[Workload, dict[ConfigEntity, float]] = defaultdict(dict)
    for record in dataset_trials(folder):
        if record.task.target.threads == threads:
            own = found[record.task.workload]
            costs = own.get(record.config, inf), *record.trial.result.costs
            own[record.config] = min(costs)
    return dict(found)


if __name__ == "__main__":
    main()
