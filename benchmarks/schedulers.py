"""Task schedulers side by side: the predicted total of a network after equal tuning, in pairs.

    uv run python benchmarks/schedulers.py [--pairs 5] [--budget 60s] [--pipeline FILE]
        [--schedulers gradient round-robin]

Each pair tunes the tasks of the file once under each scheduler, from nothing, with one seed and in
alternating order, so that a machine that slows down does no scheduler a favour. The total is the
sum of weight x best time over the tasks, as `tuning_curve` in run.json has it; the columns show it
at quarters of the budget, `-` while a task has no time yet. `search` is the tuners' share of the
run's time: features, prediction, fitting and evolution together.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import tilewright
from tilewright.options import Choice
from tilewright.records import JsonlRecordStore
from tilewright.tuning.budget import Budget
from tilewright.tuning.loop import TuneReport, tune_tasks

QUARTERS = (0.25, 0.5, 0.75, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="number of the first pair: its seed")
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--pipeline", type=Path, default=Path("examples/resnet50.yaml"))
    parser.add_argument("--schedulers", nargs=2, default=["gradient", "round-robin"])
    parser.add_argument("--tuner", default="xgb")
    options = parser.parse_args()
    first, second = options.schedulers
    print(f"{options.pipeline.stem}, {options.budget} each\n")
    print("| pair | scheduler | 1/4 ms | 1/2 ms | 3/4 ms | total ms | trials | a task | search |")
    print("|---|---|---|---|---|---|---|---|---|")
    won = 0
    for pair in range(options.first, options.first + options.pairs):
        order = [first, second] if pair % 2 == 0 else [second, first]
        reports = {
            name: tuned(options.pipeline, pair, name, options.tuner, options.budget)
            for name in order
        }
        for name in (first, second):
            print(row(pair, name, reports[name]), flush=True)
        won += total(reports[first]) <= total(reports[second])
    print(f"\n{first} is no worse than {second} in {won} of {options.pairs}")


def tuned(path: Path, seed: int, scheduler: str, tuner: str, budget: str) -> TuneReport:
    """What tuning from nothing gives; the spaces are made anew as well, for they take time."""
    context, tasks = tilewright.Pipeline.load(path).tasks(device="cpu")
    with tempfile.TemporaryDirectory() as folder:
        store = JsonlRecordStore(Path(folder) / "records.jsonl")
        return tune_tasks(
            tasks,
            replace(context, seed=seed, store=store),
            tuner=Choice(tuner),
            scheduler=Choice(scheduler),
            budget=Budget.parse(budget),
        )


def row(pair: int, name: str, report: TuneReport) -> str:
    end = report.curve[-1][0] if report.curve else 0.0
    totals = (at(report.curve, share * end) for share in QUARTERS)
    counts = sorted(outcome.trials for outcome in report.outcomes.values())
    measured = report.measurement
    return (
        f"| {pair} | {name} | {' | '.join(totals)} | {measured['trials']} "
        f"| {counts[0]} to {counts[-1]} | {measured['split']['search'] / measured['seconds']:.0%} |"
    )


def at(curve: Sequence[tuple[float, float]], seconds: float) -> str:
    """The total that was known at a time, in ms."""
    known = [value for when, value in curve if when <= seconds]
    return f"{known[-1] * 1e3:.2f}" if known else "-"


def total(report: TuneReport) -> float:
    """Seconds in the end; infinite where a task has none."""
    return report.curve[-1][1] if report.curve else float("inf")


if __name__ == "__main__":
    main()
