"""What is told of a tuned task: its records, summed up."""

from __future__ import annotations

from typing import Any

from tilewright.vocabulary.task_set import WeightedTask
from tilewright_pipeline.context.run_context import RunContext


def task_entry(entry: WeightedTask, context: RunContext) -> dict[str, Any]:
    """A member of `tasks`: the records of one task on this device, summed up.

    `precision` is that of the best config's products, and the share is of its peak.
    """
    task, history = entry.task, context.history
    trials, failures = history.count(task)
    best = history.best(task)
    seconds = best.seconds if best is not None else None
    flops = context.host.reference(task.workload.operator).operations(task.workload)
    strategy = best.config.strategy if best is not None else None
    precision = context.host.strategy(strategy).precision_of(task) if strategy else None
    peak = context.device.peak(precision, task.target.threads) if precision else None
    return {
        "key": task.workload.key,
        "name": entry.name,
        "operator": task.workload.operator,
        "weight": entry.weight,
        "strategy": strategy,
        "precision": precision,
        "trials": trials,
        "failures": failures,
        "best_seconds": seconds,
        "gflops": flops / seconds / 1e9 if seconds else None,
        "peak_share": flops / seconds / peak if seconds and peak else None,
    }
