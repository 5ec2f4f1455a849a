"""Task schedulers side by side: the predicted total of a network after equal tuning, in pairs.

    uv run python benchmarks/schedulers.py [--pairs 5] [--budget 60s] [--pipeline FILE]
        [--schedulers gradient round-robin]

Each pair tunes the tasks of the file once under each scheduler, from nothing, with one seed and in
alternating order. The total is the sum of weight x best time over the tasks, as `tuning_curve` in
run.json has it; the columns show it at quarters of the budget, `-` while a task has no time yet.
`again` is the total of the chosen configs measured once more, those of both schedulers in turns:
what a machine that slowed down between the runs does to neither. It decides who won. `search` is
the tuners' share of the run's time: features, prediction, fitting and evolution together.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path

from result_data import Row
from saving import add_save_options, save

import tilewright
from tilewright.options import Choice
from tilewright.vocabulary.measure import MeasureInput
from tilewright.vocabulary.task_set import TaskSet
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.measuring.measurement import Measurement
from tilewright_pipeline.options.budget_text import parse_budget
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.tuning.loop import tune_tasks
from tilewright_pipeline.tuning.tune_report import TuneReport
from tilewright_records.store.store import JsonlRecordStore

QUARTERS = (0.25, 0.5, 0.75, 1.0)
ROUNDS = 9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="number of the first pair: its seed")
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--pipeline", type=Path, default=Path("examples/resnet50.yaml"))
    parser.add_argument("--schedulers", nargs=2, default=["gradient", "round-robin"])
    parser.add_argument("--tuner", default="xgb")
    add_save_options(parser)
    options = parser.parse_args()
    rows = []
    first, second = options.schedulers
    print(f"{options.pipeline.stem}, {options.budget} each\n")
    print("| pair | scheduler | 1/4 | 1/2 | 3/4 | total ms | again | trials | a task | search |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    won = 0
    for pair in range(options.first, options.first + options.pairs):
        order = [first, second] if pair % 2 == 0 else [second, first]
        reports = {
            name: tuned(options.pipeline, pair, name, options.tuner, options.budget)
            for name in order
        }
        again = measured_again(options.pipeline, reports)
        for name in (first, second):
            print(row(pair, name, reports[name], again[name]), flush=True)
        if all(map(isfinite, again.values())):
            trials = {f"{name} trials": reports[name].measurement["trials"] for name in order}
            totals = {"ours": again[first] * 1e3, "peer": again[second] * 1e3}
            rows.append(Row(case=f"pair {pair}", **totals, details=trials))
        won += again[first] <= again[second]
    print(f"\n{first} is no worse than {second} in {won} of {options.pairs}")
    if options.schedulers == ["gradient", "round-robin"]:  # the pair that the question is about
        save(options, "schedulers", rows)


def tuned(path: Path, seed: int, scheduler: str, tuner: str, budget: str) -> TuneReport:
    """What tuning from nothing gives; the spaces are made anew as well, for they take time."""
    context, tasks = tilewright.Pipeline.load(path).tasks(device="cpu")
    with tempfile.TemporaryDirectory() as folder:
        store = JsonlRecordStore(Path(folder) / "records.jsonl")
        return tune_tasks(
            tasks,
            replace(context, seed=seed, store=store),
            TuneOptions(
                tuner=Choice(tuner), scheduler=Choice(scheduler), budget=parse_budget(budget)
            ),
        )


def measured_again(path: Path, reports: Mapping[str, TuneReport]) -> dict[str, float]:
    """Seconds in total by scheduler: medians over rounds in which the configs of all take turns.

    Infinite where a task has no config that works.
    """
    context, tasks = tilewright.Pipeline.load(path).tasks(device="cpu")
    chosen = {name: choices(tasks, report, context) for name, report in reports.items()}
    asked = list(dict.fromkeys(each for configs in chosen.values() for each in configs))
    with tempfile.TemporaryDirectory() as folder:
        store = JsonlRecordStore(Path(folder) / "again.jsonl")
        with Measurement(replace(context, store=store)) as measurement:
            trials = measurement.measure(asked)
    times = {
        trial.input: float("inf") if trial.result.seconds is None else trial.result.seconds
        for trial in trials
    }
    weights = {entry.task: entry.weight for entry in tasks}
    return {
        name: sum(weights[each.task] * times[each] for each in configs)
        if len(configs) == len(weights)
        else float("inf")
        for name, configs in chosen.items()
    }


def choices(tasks: TaskSet, report: TuneReport, context: RunContext) -> list[MeasureInput]:
    """Each task's chosen config, as it is measured."""
    configs = [(entry.task, report.outcomes[entry.task.key].best_config) for entry in tasks]
    return [
        MeasureInput(task, config, replace(context.conditions.for_task(task), turns=ROUNDS))
        for task, config in configs
        if config is not None
    ]


def row(pair: int, name: str, report: TuneReport, again: float) -> str:
    end = report.curve[-1][0] if report.curve else 0.0
    totals = (at(report.curve, share * end) for share in QUARTERS)
    counts = sorted(outcome.trials for outcome in report.outcomes.values())
    measured = report.measurement
    share = measured["split"].get("search", 0.0) / measured["seconds"]
    return (
        f"| {pair} | {name} | {' | '.join(totals)} | {again * 1e3:.2f} | {measured['trials']} "
        f"| {counts[0]} to {counts[-1]} | {share:.0%} |"
    )


def at(curve: Sequence[tuple[float, float]], seconds: float) -> str:
    """The total that was known at a time, in ms."""
    known = [value for when, value in curve if when <= seconds]
    return f"{known[-1] * 1e3:.2f}" if known else "-"


if __name__ == "__main__":
    main()
