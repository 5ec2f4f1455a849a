"""`tilewright.tune`, `compile` and `explain`: a pipeline's stages for one task or one network."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.notebook import notebook_html
from tilewright.options import Choice
from tilewright.terminal_text import brief
from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Conditions
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.task_set import TaskSet, WeightedTask
from tilewright_pipeline.api.task_explanation import TaskExplanation
from tilewright_pipeline.api.task_text import find_task, find_tasks, names_a_key, names_a_task
from tilewright_pipeline.context.explaining import Explanation, explainers, no_such_part
from tilewright_pipeline.context.reach import resolver
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.context.run_setup import make_context, open_store, own_records
from tilewright_pipeline.context.time_text import time_text
from tilewright_pipeline.dispatch.contexts import FallbackContext
from tilewright_pipeline.options.mistakes import checked, checked_choice, with_checked_choices
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.stages.planned_stage import PlannedStage, factories, stage_that_makes
from tilewright_pipeline.stages.values import RunValues
from tilewright_pipeline.tuning.narrowing import tell_narrowing
from tilewright_pipeline.tuning.task_entry import task_entry
from tilewright_pipeline.tuning.tune_report import TuneReport
from tilewright_pipeline.tuning.tune_stage import TuneStage
from tilewright_pipeline.writing import check_folder
from tilewright_pipeline.yaml.file_model import MeasureSection

_log = logging.getLogger("tilewright")


@dataclass(frozen=True, slots=True)
class TuneResult:
    """What tuning one task found.

    summary   JSON values: trials and failures of this call, seconds, trials_per_second,
              best_seconds, gflops, peak_share, strategy, config; `skipped` where the same was asked
              for before, so that nothing was measured; `ended`, why it went no further, else None;
              `partial`, as below; `records`, the file
    device    what it was measured on
    partial   the device was lost before the budget was spent
    """

    task: Task
    config: ConfigEntity | None
    seconds: float | None
    summary: Mapping[str, Any]
    device: Device
    partial: bool = False

    def _repr_html_(self) -> str | None:
        return notebook_html(self)

    def __repr__(self) -> str:
        found = "no config"
        if self.config is not None and self.seconds is not None:
            found = f"{time_text(self.seconds)} by {brief(self.config.strategy)}"
        task, trials = brief(str(self.summary["task"])), self.summary["trials"]
        return f"<TuneResult {task}: {found}; {trials} trials>"


def tune(
    task: Task | str,
    *,
    target: Target | str | None = None,
    effort: int | None = None,
    tuner: Any = None,
    budget: Budget | str | int | None = None,
    strategies: str = "*",
    precision: str = "float32",
    conditions: Conditions | None = None,
    early_stopping: int | None = None,
    device: str | None = None,
    seed: int = 0,
    records: str | Path | None = None,
    runner: Any = None,
    builder: Any = None,
    scheduler: Any = None,
    foreign_records: bool = False,
    host: PluginHost | None = None,
) -> TuneResult:
    """The best config that a budget finds for a task; all trials are in a records file.

    task      a Task, or its text form, or the key of a workload in the records file
    target    used where the task is a text; default: what a key or file names, or that of the
              key's latest record, else the default target
    effort    0 to 3, one word for budget, scheduler and early_stopping: see `TuneOptions`; at 0
              nothing is measured, and the config is what `compile` takes for the task
    tuner, runner, builder, scheduler  a name or {name: {options}}; the default of its role
    budget, early_stopping  as of the stage `tune` (`TuneOptions`); default 60 s, and none
    records   the file; default: the user's own, `~/.local/share/tilewright/records.jsonl`, which
              `compile` and `explain` read by default
    foreign_records  begin with the best that other devices found
    """
    (found,) = _tuned(
        task,
        several=False,
        target=target,
        effort=effort,
        tuner=tuner,
        budget=budget,
        strategies=strategies,
        precision=precision,
        conditions=conditions,
        early_stopping=early_stopping,
        device=device,
        seed=seed,
        records=records,
        runner=runner,
        builder=builder,
        scheduler=scheduler,
        foreign_records=foreign_records,
        host=host,
    )
    return found


def tune_each(source: str, **options: Any) -> list[TuneResult]:
    """The best configs of the tasks of a file, which share one budget; options as of `tune`.

    source   a JSON file, as `tilewright record-untuned` and `tasks --json` write it; or what `tune`
             takes, for one
    """
    return _tuned(source, several=True, **options)


def _tuned(
    source: Task | str,
    *,
    several: bool,
    target: Target | str | None = None,
    effort: int | None = None,
    tuner: Any = None,
    budget: Budget | str | int | None = None,
    strategies: str = "*",
    precision: str = "float32",
    conditions: Conditions | None = None,
    early_stopping: int | None = None,
    device: str | None = None,
    seed: int = 0,
    records: str | Path | None = None,
    runner: Any = None,
    builder: Any = None,
    scheduler: Any = None,
    foreign_records: bool = False,
    host: PluginHost | None = None,
) -> list[TuneResult]:
    host = (host or PluginHost.load()).at_precision(precision)
    asked = _given(
        effort=effort,
        tuner=tuner,
        scheduler=scheduler,
        budget=budget,
        early_stopping=early_stopping,
    )
    options = with_checked_choices(checked(TuneOptions, asked, where=""), host)
    asked = _given(runner=runner, builder=builder)
    measure = with_checked_choices(checked(MeasureSection, asked, where=""), host)
    file = own_records() if records is None else Path(records)
    if isinstance(source, str):
        store = open_store(file, host) if names_a_key(source) else None
        resolve = resolver(measure.runner, host)
        given = (source, resolve(target) if target else None, host, store, resolve)
        tasks = find_tasks(*given) if several else [find_task(*given)]
    else:
        tasks = [source]
    context = make_context(
        host,
        name="tune",
        folder=file.parent,
        target=tasks[0].target,
        device=device,
        records=file,
        conditions=conditions,
        seed=seed,
        runner=measure.runner,
        builder=measure.builder,
        strategies=strategies,
        foreign_records=foreign_records,
        searches=options.takes_long,
    )
    entries = TaskSet.merged(
        WeightedTask(
            replace(task, target=context.target),  # an emulated device has its own
            1.0,
            host.reference(task.workload.operator).format(task.workload),
        )
        for task in tasks
    )
    tell_narrowing(entries, context)
    report = TuneStage(options, context).tune(entries)
    return [_result(entry, report, context, effort) for entry in entries]


def _result(
    entry: WeightedTask, report: TuneReport, context: RunContext, effort: int | None
) -> TuneResult:
    task = entry.task
    strategies = context.history.narrowed(task)
    best = context.history.best(task, context.host.space(task, strategies).is_valid)
    config, seconds = (best.config, best.seconds) if best is not None else (None, None)
    if best is None and effort == 0:
        fallbacks = FallbackContext(context.host, strategies, device=context.device)
        known = fallbacks.find(task, None)
        config = None if known is None else known.config
    summary = _summary(entry, config, report, context)
    return TuneResult(task, config, seconds, summary, context.device, report.partial)


def _given(**arguments: Any) -> dict[str, Any]:
    """The arguments that are not None, which stands for the default of the options model."""
    return {name: value for name, value in arguments.items() if value is not None}


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
        **({"packs": [pack.to_json() for pack in context.packs]} if context.packs else {}),
        "config": config.to_json() if config is not None else None,
    }


def compile(  # noqa: A001  the name users expect
    network: Any,
    *,
    target: Target | str | None = None,
    records: str | Path | None = None,
    out: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    strategies: str = "*",
    precision: str = "float32",
    device: str | None = None,
    seed: int = 0,
    frozen: bool | str = False,
    host: PluginHost | None = None,
) -> Any:
    """A compiled network, from what the records file knows and fallback configs for the rest.

    network   a network, as stages take it; or a model: what the stage `import` takes as `model` (a
              path, a model in memory, its bytes), or a mapping of its options
    options   of the stage `compile`
    out       a folder in which it is saved as well, as `network`; by default, nothing is written
    records   only read; default `records.jsonl` in `out`, else that of `tune`
    frozen    refuse kernels without a record, rather than fall back; `sha256:...` pins the records
    """
    host = (host or PluginHost.load()).at_precision(precision)
    if out is not None:
        check_folder(Path(out), "out")
    if records is not None and not Path(records).exists():
        _log.warning("%s: no such records file: every config is a fallback", records)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()) if out is None else out)
        known = folder / "records.jsonl" if records is None else Path(records)
        if records is None and not known.exists():
            known = own_records()
        context = make_context(
            host,
            name="compile",
            folder=folder,
            target=target,
            device=device,
            records=known,
            strategies=strategies,
            seed=seed,
            frozen=frozen,
            writes=False,
            saves=out is not None,
        )
        values = _imported(network, context)
        _run(_planned("compile", options or {}, host), context, values)
    return next(values.latest())


def explain(
    source: Any,
    part: str | None = None,
    *,
    target: Target | str | None = None,
    records: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    strategies: str = "*",
    precision: str = "float32",
    device: str | None = None,
    host: PluginHost | None = None,
) -> list[Explanation]:
    """Why a task, or the kernels of a network, get their configs. Nothing is measured or written.

    Each explanation prints as `tilewright explain` shows it, and has `to_json()`.

    source    a Task, what `tune` takes for one, or what `compile` takes for a network
    part      of a network: a kernel's name or key, or the key of a task; without it, all kernels
              that do not have their own best config
    target    default: that of the task; of a network, the default one
    options   of the stage `compile`
    records   default: the file of `tune`
    """
    host = (host or PluginHost.load()).at_precision(precision)
    file = own_records() if records is None else Path(records)
    if isinstance(source, str) and names_a_task(source):
        store = open_store(file, host) if names_a_key(source) else None
        source = find_task(source, host.resolve_target(target) if target else None, host, store)
    context = make_context(
        host,
        name="explain",
        folder=file.parent,
        target=source.target if isinstance(source, Task) else target,
        device=device,
        records=file,
        strategies=strategies,
        writes=False,
        saves=False,
    )
    if isinstance(source, Task):
        return [TaskExplanation.of(replace(source, target=context.target), context)]
    values = _imported(source, context)
    stage = _planned("compile", options or {}, host)
    _make_inputs(stage, context, values)
    networks = list(explainers(values.latest(), context, [stage.options]))
    found = [told for network in networks for told in network.explain(part)]
    if part is not None and not found:
        raise no_such_part(part, networks)
    return found


def _imported(network: Any, context: RunContext) -> RunValues:
    """What the stages begin with: the value itself if one takes such, else the model imported."""
    compiler: Any = context.host.component("stage", "compile").load()
    if isinstance(network, tuple(compiler.produces)):
        raise UsageError(
            f"{network!r} is compiled already",
            remedy="give the model that it was compiled from, and its records",
        )
    if isinstance(network, Mapping):
        options = network
    elif isinstance(network, str | Path) or not _is_taken(network, context.host):
        options = {"model": network}
    else:
        return RunValues([network])
    values = RunValues()
    _run(_planned("import", options, context.host), context, values)
    return values


def _is_taken(value: Any, host: PluginHost) -> bool:
    """Whether an installed stage takes such a value."""
    return any(isinstance(value, kind) for _, stage in factories(host) for kind in stage.consumes)


def _planned(name: str, options: Mapping[str, Any], host: PluginHost) -> PlannedStage:
    checked = checked_choice("stage", Choice(name, options), host)
    with host.blaming("stage", name):
        return PlannedStage(name, checked, host.component("stage", name).load(), place="")


def _run(stage: PlannedStage, context: RunContext, values: RunValues) -> None:
    """Run a stage, and those before it that make what it takes."""
    _make_inputs(stage, context, values)
    values.run(stage, context)
    if values.branches:
        raise UsageError("several networks, expected one", remedy="give each by itself")


def _make_inputs(stage: PlannedStage, context: RunContext, values: RunValues) -> None:
    """Run the stages that make what a stage takes, where the values lack it."""
    for kind in stage.factory.consumes:
        maker = stage_that_makes(kind, context.host)
        if maker and values.find(kind) is None:
            _run(_planned(maker, {}, context.host), context, values)
