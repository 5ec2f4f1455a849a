"""What the best configs of each machine reach on each other one, over workloads that both measured.

    uv run python benchmarks/machine_matrix.py benchmarks/models/* [--save]

Each folder is a data set of one machine. Of the configs of a workload that both measured, the
fastest there is looked up here, beside the fastest that was measured here. Nothing is measured.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from math import inf
from pathlib import Path
from statistics import median

from result_data import Row
from saving import add_save_options, save

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.workload import Workload
from tilewright_cli.bench.dataset_trials import dataset_trials
from tilewright_cli.bench.workloads import Workloads

FEWEST = 8
"""Configs of a workload that both machines measured."""

Seconds = Mapping[ConfigEntity, float]
"""The least sample of each config; infinite of a failure."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    add_save_options(parser)
    options = parser.parse_args()
    rows = list(matrix(options.folders, options.threads))
    for row in rows:
        told = ", ".join(f"{name}: {figure:g}" for name, figure in row.details.items())
        print(f"{row.case}: {row.ours} % of the optimum; {told}")
    save(options, "transfer", rows)


def matrix(folders: Sequence[Path], threads: int) -> Iterator[Row]:
    """A row for each ordered pair of machines that have workloads in common.

    The share is of the time that the networks' workloads take, each as often as it occurs; the
    median is over all workloads.
    """
    sets = {folder.name: _by_workload(folder, threads) for folder in folders}
    weights = {}
    for folder in folders:
        for entry in Workloads.read(folder / "tasks.json"):
            weights[entry.workload] = sum(entry.networks.values())
    for there, here in permutations(sets, 2):
        best, chosen, common, shares = 0.0, 0.0, 0, []
        for workload in sets[there].keys() & sets[here].keys():
            theirs, ours = sets[there][workload], sets[here][workload]
            both = [config for config in theirs if config in ours]
            own = [seconds for seconds in ours.values() if seconds < inf]
            if len(both) < FEWEST or not own:
                continue
            # A failure costs what the slowest config does, as where a model is judged.
            taken = min(ours[min(both, key=theirs.__getitem__)], max(own))
            best += weights[workload] * min(own)
            chosen += weights[workload] * taken
            common += len(both)
            shares.append(min(own) / taken)
        if chosen:
            yield Row(
                case=f"networks' workloads, {there} on {here}",
                ours=round(100 * best / chosen, 1),
                details={
                    "median of all workloads in %": round(100 * median(shares), 1),
                    "workloads": len(shares),
                    "common configs": common,
                },
            )


def _by_workload(folder: Path, threads: int) -> dict[Workload, Seconds]:
    found: dict[Workload, dict[ConfigEntity, float]] = defaultdict(dict)
    for record in dataset_trials(folder):
        if record.task.target.threads == threads:
            costs = record.trial.result.costs
            found[record.task.workload][record.config] = min(costs, default=inf)
    return dict(found)


if __name__ == "__main__":
    main()
