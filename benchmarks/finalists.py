"""What short measurements cost: how much slower the chosen config is than the best one there is.

    uv run python benchmarks/finalists.py [--runs 3] [--rounds 6]

On three tasks every config is measured at length: once a round, in another order each time, five
samples a round. Its long time is the 20th percentile of all: where a machine has slower phases,
half of the samples of some configs fall into them. Then a tuning run measures every config as runs
do, racing and finalists included, and chooses. `regret` is how much slower the chosen config
is than the best, both by their long times; `without` is that of the config whose first short time
was the lowest: what would have been chosen without measuring finalists again.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import quantiles

from result_data import Row
from saving import add_save_options, save

from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import MeasureInput
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.task_set import TaskSet, WeightedTask
from tilewright_pipeline.api.task_text import find_task
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.context.run_setup import make_context
from tilewright_pipeline.measuring.measurement import Measurement
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.tuning.loop import tune_tasks

TASKS = {
    "conv2d(1x80x28x28, 48x80x1x1)": "conv2d_direct",
    "conv2d(1x3x112x112, 64x3x7x7, strides=2, padding=3)": "conv2d_direct",
    "dense(16x512, 512x512)": "dense_packed",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--target", default="x86:threads=1")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=6)
    add_save_options(parser)
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("--rounds: expected 2 or more, since one sample has no percentile")
    host = PluginHost.load()
    print("| task | configs | best ms | samples | regret | without |")
    print("|---|---|---|---|---|---|")
    rows = []
    for text, strategies in TASKS.items():
        with tempfile.TemporaryDirectory() as folder:
            context = new_run(host, Path(folder), options.target, strategies)
            task = find_task(text, context.target, host, None)
            configs = list(host.space(task, strategies).points())
            times = measured_at_length(task, configs, context, options.rounds)
        best = min(times.values())
        chosen = [
            choose(host, task, strategies, options.target, seed) for seed in range(options.runs)
        ]
        behind = [[times[config] / best - 1 for config in pair] for pair in chosen]
        regrets, without = (
            ", ".join(f"{one:.1%}" for one in each) for each in zip(*behind, strict=True)
        )
        rows += [
            Row(
                case=f"{text}, seed {seed}",
                ours=100 * regret,
                details={"without %": 100 * lowest, "best ms": best * 1e3},
            )
            for seed, (regret, lowest) in enumerate(behind)
        ]
        print(
            f"| {text} | {len(times)} of {len(configs)} | {best * 1e3:.4f} "
            f"| {5 * options.rounds} | {regrets} | {without} |",
            flush=True,
        )
    save(options, "finalists", rows)


def new_run(host: PluginHost, folder: Path, target: str, strategies: str) -> RunContext:
    return make_context(host, name="finalists", folder=folder, target=target, strategies=strategies)


def measured_at_length(
    task: Task, configs: list[ConfigEntity], context: RunContext, rounds: int
) -> Mapping[ConfigEntity, float]:
    """The long time of each config that works, from rounds over all of them."""
    conditions = replace(context.conditions, turns=rounds)
    with Measurement(context) as measurement:
        trials = measurement.measure([MeasureInput(task, config, conditions) for config in configs])
    return {
        trial.input.config: quantiles(trial.result.costs, n=5, method="inclusive")[0]
        for trial in trials
        if trial.result.costs
    }


def choose(
    host: PluginHost, task: Task, strategies: str, target: str, seed: int
) -> tuple[ConfigEntity, ConfigEntity]:
    """What a tuning run over every config chooses, and whose first time was the lowest."""
    with tempfile.TemporaryDirectory() as folder:
        context = new_run(host, Path(folder), target, strategies)
        tune_tasks(
            TaskSet((WeightedTask(task, 1.0),)),
            context,
            TuneOptions(
                tuner=Choice("random"),
                scheduler=Choice("round-robin"),
                budget=Budget(trials=10 * host.space(task, strategies).valid_count() // 9 + 10),
            ),
        )
        best = context.history.best(task, host.space(task, strategies).is_valid)
        first: dict[ConfigEntity, float] = {}
        for record in context.store.records():
            if record.seconds is not None:
                first.setdefault(record.config, record.seconds)
    assert best is not None
    return best.config, min(first, key=first.__getitem__)


if __name__ == "__main__":
    main()
