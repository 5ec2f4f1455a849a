"""Measures what a model advises for the tasks of networks that it has not seen, on this machine.

    uv run python benchmarks/models/advised.py benchmarks/models/{zen3,zen4,emerald_rapids}
        [--networks resnet-50,bert-base] [--machine-left-out] [--passes 5] [--save FILE]

Each network is left out of the training, or all of this machine. Measured are the config that the
model ranks first of what was fast for similar workloads, the one that it chooses, the fallback, and
the three that were fastest in the data set: in passes, in each of which those of a task follow one
another in another order, since hosts have slow phases. It wants a data set of this machine, and a
quiet machine.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from fitting import columns_of
from train import packed, tables_of
from trials import TaskTable

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import MeasureInput
from tilewright.vocabulary.task import Task
from tilewright_models.advisor import Advisor
from tilewright_models.cost_model import CostModel, Machine
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.context.run_setup import make_context
from tilewright_pipeline.dispatch.unmeasured import UnmeasuredTask
from tilewright_pipeline.measuring.measurement import Measurement

FASTEST = 3
"""Configs of the data set that are measured again, from which the best known one comes."""
THREADS = 1

Seconds = dict[tuple[Task, ConfigEntity], float]


@dataclass(frozen=True)
class Case:
    """A task of a network that the model has not seen, and its configs by who names them."""

    network: str
    weight: float
    task: Task
    ranked_first: ConfigEntity
    chosen: ConfigEntity
    fallback: ConfigEntity
    fastest: tuple[ConfigEntity, ...]

    @property
    def configs(self) -> list[ConfigEntity]:
        """Each once."""
        own = (self.ranked_first, self.chosen, self.fallback, *self.fastest)
        return list(dict.fromkeys(own))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--networks", help="all of this machine's data set by default")
    parser.add_argument("--machine-left-out", action="store_true", help="in place of each network")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--save", type=Path, help="write the figures")
    given = parser.parse_args()
    host = PluginHost.load()
    with TemporaryDirectory() as folder:
        context = _context(host, Path(folder))
        tables = tables_of(given.folders)
        machine = Machine.of(context.device, context.target)
        here = [table for table in tables if table.machine == machine]
        every = sorted({network for table in here for network in table.weights})
        names = given.networks.split(",") if given.networks else every
        if not names or set(names) - set(every):
            parser.error(f"the folders have trials on this machine of {every}; got {names}")
        if given.machine_left_out:
            other = _model([t for t in tables if t.machine.processor != machine.processor])
            models = dict.fromkeys(names, other)
        else:
            models = {name: _model([t for t in tables if name not in t.networks]) for name in names}
        cases = [case for name in names for case in _cases(name, models[name], here, host)]
        seconds = _measured(cases, given.passes, context)
    rows = [_row(name, [c for c in cases if c.network == name], seconds) for name in names]
    print(f"{'not seen':20}  workloads  ranked first  chosen  fallback")
    for row in rows:
        told = "  ".join(f"{row[name]:.3f}" for name in ("ranked_first", "chosen", "fallback"))
        print(f"{row['network']:20}  {row['workloads']:9}  {told}")
    if given.save is not None:
        given.save.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def _context(host: PluginHost, folder: Path) -> RunContext:
    return make_context(
        host,
        name="advised",
        folder=folder,
        target=f"x86:threads={THREADS}",
        runner=None,
        builder=None,
        seed=0,
    )


def _model(tables: Sequence[TaskTable]) -> CostModel:
    return CostModel.read(packed(tables, columns_of(tables)), "advised")


def _cases(
    network: str, model: CostModel, here: Sequence[TaskTable], host: PluginHost
) -> Iterator[Case]:
    """What a model says of a network's tasks."""
    for table in here:
        if network not in table.weights:
            continue
        task, space = table.task, host.space(table.task)
        fallback = host.fallback_config(task, space)
        advisor = Advisor(model, table.machine, host)
        asked = UnmeasuredTask(task, space, fallback, table.device)
        advice = advisor.advice(asked)
        starts = () if advice is None else advice.starts
        choice = None if advice is None else advice.choice
        ranked = [fallback, *(config for config in starts if config != fallback)]
        scores = advisor.scores(task, ranked, table.device).mean(axis=0)
        yield Case(
            network,
            table.weights[network],
            task,
            ranked[int(scores.argmax())],
            fallback if choice is None else choice.config,
            fallback,
            tuple(table.configs[place] for place in np.argsort(table.seconds)[:FASTEST]),
        )


def _measured(cases: Sequence[Case], passes: int, context: RunContext) -> Seconds:
    """What each config takes; a failure takes what the slowest config of its task does."""
    asked: dict[Task, dict[ConfigEntity, None]] = {}
    for case in cases:
        asked.setdefault(case.task, {}).update(dict.fromkeys(case.configs))
    taken: dict[Task, list[Any]] = {task: [] for task in asked}
    rng = np.random.default_rng(0)
    with Measurement(context) as measurement:
        for _ in range(passes):
            for task, configs in asked.items():
                every, order = [*configs], rng.permutation(len(configs))
                conditions = context.conditions.for_task(task)
                inputs = [MeasureInput(task, every[place], conditions) for place in order]
                costs = np.full(len(every), np.nan)
                for place, trial in zip(order, measurement.measure(inputs), strict=True):
                    costs[place] = min(trial.result.costs, default=np.nan)
                taken[task].append(costs)
    return {
        (task, config): float(seconds)
        for task, configs in asked.items()
        for config, seconds in zip(configs, _typical(np.array(taken[task])), strict=True)
    }


def _typical(taken: Any) -> Any:
    """Of each config, by passes and configs: the median of what it takes beside the others.

    What is measured within a second is in one phase of the host, so ratios of one pass count.
    """
    taken = taken[np.isfinite(taken).any(axis=1)]
    slowest = np.nanmax(taken, axis=1, keepdims=True)
    taken = np.where(np.isnan(taken), slowest, taken)
    level = np.exp(np.log(taken).mean(axis=1, keepdims=True))
    return np.median(taken / level, axis=0) * np.median(level)


def _row(network: str, cases: Sequence[Case], seconds: Seconds) -> dict[str, float | str]:
    """Shares of the speed of the fastest config, by time."""
    total = np.zeros(4)
    for case in cases:
        known = [seconds[case.task, config] for config in case.configs]
        named = case.ranked_first, case.chosen, case.fallback
        each = [min(known), *(seconds[case.task, one] for one in named)]
        total += case.weight * np.array(each)
    best, *others = total
    shares = zip(("ranked_first", "chosen", "fallback"), others, strict=True)
    return {"network": network, "workloads": len(cases)} | {n: best / t for n, t in shares}


if __name__ == "__main__":
    main()
