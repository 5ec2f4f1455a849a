"""`tilewright.tune` and `tilewright.compile`: a pipeline's stages for one task or one network."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.config import ConfigEntity
from tilewright.errors import UsageError
from tilewright.host import PluginHost
from tilewright.measure import Conditions
from tilewright.options import Choice
from tilewright.pipeline.plan import stage_that_makes
from tilewright.roles import RunContext
from tilewright.run_report import task_entry
from tilewright.run_setup import make_context, open_store
from tilewright.task import Task
from tilewright.task_set import TaskSet, WeightedTask
from tilewright.task_text import find_task, names_a_key
from tilewright.tuning.budget import Budget
from tilewright.tuning.loop import tune_tasks
from tilewright.tuning.tune_report import TuneReport
from tilewright.writing import check_folder

_log = logging.getLogger("tilewright")


@dataclass(frozen=True, slots=True)
class TuneResult:
    """What tuning one task found.

    summary   JSON values: trials and failures of this call, seconds, trials_per_second,
              best_seconds, gflops, peak_share, strategy, config; `skipped` where the same was asked
              for before, so that nothing was measured; `ended`, why it went no further, else None;
              `partial`, as below; `records`, the file
    partial   the device was lost before the budget was spent
    """

    task: Task
    config: ConfigEntity | None
    seconds: float | None
    summary: Mapping[str, Any]
    partial: bool = False


def tune(
    task: Task | str,
    *,
    target: str | None = None,
    tuner: Any = "xgb",
    budget: Budget | str | int = "60s",
    strategies: str = "*",
    conditions: Conditions | None = None,
    early_stopping: int | None = None,
    device: str | None = None,
    seed: int = 0,
    records: str | Path | None = None,
    runner: Any = "local",
    builder: Any = "local",
    scheduler: Any = "round-robin",
    foreign_records: bool = False,
    host: PluginHost | None = None,
) -> TuneResult:
    """The best config that a budget finds for a task; all trials are in the records file.

    task      a Task, or its text form, or the key of a workload in the records file
    target    used where the task is a text; default: what a key or file names, or that of the
              key's latest record, else `native`
    tuner, runner, builder, scheduler  a name or {name: {options}}
    records   default `runs/tune/records.jsonl`
    foreign_records  begin with the best that other devices found
    """
    host = host or PluginHost.load()
    named = {"tuner": tuner, "scheduler": scheduler, "runner": runner, "builder": builder}
    chosen = {role: Choice.parse(choice) for role, choice in named.items()}
    for role, choice in chosen.items():
        host.check(role, choice)
    limit = Budget.parse(budget)
    folder = Path("runs/tune")
    if isinstance(task, str):
        file = Path(records or folder / "records.jsonl")
        store = open_store(file, host, Choice("jsonl")) if names_a_key(task) else None
        task = find_task(task, host.resolve_target(target) if target else None, host, store)
    context = make_context(
        host,
        name="tune",
        folder=folder,
        target=str(task.target),
        device=device,
        records=Path(records) if records is not None else None,
        conditions=conditions,
        seed=seed,
        runner=chosen["runner"],
        builder=chosen["builder"],
        strategies=strategies,
        foreign_records=foreign_records,
    )
    entry = WeightedTask(task, 1.0, host.reference(task.workload.operator).format(task.workload))
    report = tune_tasks(
        TaskSet((entry,)),
        context,
        tuner=chosen["tuner"],
        scheduler=chosen["scheduler"],
        budget=limit,
        early_stopping=early_stopping,
    )
    best = context.store.best(context.query(task, host.space(task, strategies).is_valid))
    config, seconds = (best.config, best.seconds) if best is not None else (None, None)
    summary = _summary(entry, config, report, context)
    return TuneResult(task, config, seconds, summary, report.partial)


def _summary(
    entry: WeightedTask, config: ConfigEntity | None, report: TuneReport, context: RunContext
) -> dict[str, Any]:
    known = task_entry(entry, context)
    return {
        **{name: known[name] for name in ("best_seconds", "gflops", "peak_share", "strategy")},
        **{name: value for name, value in report.measurement.items() if name != "counts"},
        **report.measurement["counts"],
        "task": entry.name,
        "skipped": report.skipped,
        "ended": None if report.skipped else report.outcomes[entry.task.key].reason,
        "partial": report.partial,
        "records": str(context.store.path),
        "config": config.to_json() if config is not None else None,
    }


def compile(  # noqa: A001  the name users expect
    network: Any,
    *,
    target: str = "native",
    records: str | Path | None = None,
    out: str | Path = "runs/compile",
    options: Mapping[str, Any] | None = None,
    strategies: str = "*",
    device: str | None = None,
    seed: int = 0,
    host: PluginHost | None = None,
) -> Any:
    """A compiled network, from what the records file knows and fallback configs for the rest.

    network   a Network, or what the stage `import` takes as `model`, or a mapping of its options
    options   of the stage `compile`
    out       where the stage saves it
    records   only read; default `records.jsonl` in `out`
    """
    host = host or PluginHost.load()
    check_folder(Path(out), "out")
    if records is not None and not Path(records).exists():
        _log.warning("%s: no such records file: every config is a fallback", records)
    context = make_context(
        host,
        name="compile",
        folder=Path(out),
        target=target,
        device=device,
        records=Path(records) if records is not None else None,
        strategies=strategies,
        seed=seed,
        writes=False,
    )
    values = [network]

    def run(name: str, options: Mapping[str, Any]) -> None:
        stage = host.make("stage", name, options, context)
        for kind in stage.consumes:
            maker = stage_that_makes(kind, host)
            if maker and not any(isinstance(value, kind) for value in values):
                run(maker, {})
        wanted = (*stage.consumes, *stage.optional)
        given = {kind: value for kind in wanted for value in values if isinstance(value, kind)}
        result = stage.run(given)
        if result.branches:
            raise UsageError("several networks, expected one", remedy="compile each by itself")
        values.extend(result.values)

    if isinstance(network, str | Path):
        run("import", {"model": str(network)})
    elif isinstance(network, Mapping):
        run("import", network)
    run("compile", options or {})
    return values[-1]
