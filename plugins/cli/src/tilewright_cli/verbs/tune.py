"""`tilewright tune TASK`: one task by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright_cli.terminal import shared_options as shared
from tilewright_cli.terminal.choice_text import choice_of
from tilewright_cli.terminal.model_flags import flags_of
from tilewright_pipeline.context.exit_codes import DONE, PARTIAL
from tilewright_pipeline.context.time_text import time_text
from tilewright_pipeline.measuring.device_shares import faults_told, trials_told
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.yaml.file_model import MeasureSection, PipelineFile

if TYPE_CHECKING:
    from tilewright_pipeline.api.functions import TuneResult

_BEFORE_ITS_BUDGET = {
    "exhausted": "the tuner proposes nothing new",
    "early_stopping": "nothing improved within --early-stopping",
    "dead": "no trial worked",
    "finished": "the scheduler asks for no more",
}


@click.command()
@click.argument("task")
@shared.component(
    "--target", help="KIND:name=value,... or a short text.", shown="[that of TASK, or {}]"
)
@flags_of(TuneOptions, ("effort", "tuner", "scheduler"))
@flags_of(MeasureSection, ("runner", "builder"))
@flags_of(PipelineFile, ("strategies", "precision"))
@flags_of(TuneOptions, ("budget", "early_stopping"))
@flags_of(MeasureSection, ("constants", "repeat"), called={"constants": "--conditions"})
@flags_of(PipelineFile, ("device", "seed"))
@click.option("--records", type=shared.NAMED_PATH, help="[runs/tune/records.jsonl]")
@shared.foreign_records
@shared.plugin_files
@shared.watch_options
@shared.as_json
def tune(
    *,
    task: str,
    target: str | None,
    records: Path | None,
    foreign_records: bool,
    plugin: tuple[Path, ...],
    quiet: bool,
    events: Path | None,
    as_json: bool,
    **asked: Any,
) -> int:
    """Tune one task, or those of a file, which share the budget.

    TASK is operator(arguments), a key in the records file, or a JSON file.
    """
    from tilewright.host.plugin_host import PluginHost
    from tilewright_cli.progress.watched import watched
    from tilewright_pipeline.api.functions import tune_each

    try:
        with watched(quiet=quiet or as_json, events=events) as watchers:
            host = PluginHost.load(plugin, watchers.observers)
            watchers.watch(host)
            results = tune_each(
                task,
                target=target,
                **dict(_arguments(asked)),
                records=records or shared.TUNE_RECORDS,
                foreign_records=foreign_records,
                host=host,
            )
    except KeyboardInterrupt:
        shared.say("what was measured is kept: the same command goes on from there", err=True)
        raise
    if as_json:
        told = [dict(result.summary) for result in results]
        shared.print_json(told[0] if len(told) == 1 else {"tasks": told})
    else:
        for result in results:
            shared.say("\n".join(_best_lines(result.summary)))
        shared.say("\n".join(_lines(results)))
    lacking = any(result.partial or result.config is None for result in results)
    return PARTIAL if lacking else DONE


def _arguments(asked: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What `tilewright.tune` takes for the flags that were given."""
    given = {name: value for name, value in asked.items() if value is not None}
    measured = {name: given.pop(name) for name in ("constants", "repeat") if name in given}
    yield "conditions", MeasureSection(**measured).conditions
    for name, value in given.items():
        role = name in ("tuner", "scheduler", "runner", "builder")
        yield name, choice_of(f"--{name}", value) if role else value


def _best_lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"task      {found['task']}"
    seconds, config = found["best_seconds"], found["config"]
    if seconds is None:
        why = "every trial failed" if found["trials"] else "nothing was measured"
        yield f"best      none: {why}"
        if config is not None:
            yield f"config    {config['strategy']} {config['values']}"
    else:
        share = found["peak_share"]
        peak = "" if share is None else f", {share:.0%} of peak"
        yield f"best      {time_text(seconds)}, {found['gflops']:.1f} GFLOP/s{peak}"
        yield f"config    {config['strategy']} {config['values']}"
        if share is not None and share > 1:
            yield "Above the peak: by fewer operations than the direct algorithm's (Winograd), or"
            yield "the peak was measured on a busy machine: `tilewright bench peak` raises it."


def _lines(results: Sequence[TuneResult]) -> Iterator[str]:
    """What was spent on all of them."""
    found = results[0].summary
    counts = f"{found['trials']}, {found['failures']} failed, in {found['seconds']:.1f} s"
    yield f"trials    {counts}, {found['trials_per_second']:.1f} a second"
    if devices := found.get("devices"):
        again, built = faults_told(devices), faults_told(found.get("builders", {}))
        yield (
            f"devices   {trials_told(devices)}"
            + (f"; measured again: {again}" if again else "")
            + (f"; built elsewhere: {built}" if built else "")
        )
    if spared := found.get("spared"):
        yield f"spared    {spared} alternatives: slower than the best even at their own peak"
    yield f"records   {found['records']}"
    for pack in found.get("packs", ()):
        told = (
            f"{pack['records']} records of this device, {pack['similar_devices']} devices like it"
        )
        yield f"pack      {pack['name']}, {pack['source']}: {told}"
    if len(results) == 1 and found["ended"] in _BEFORE_ITS_BUDGET:
        yield f"It ended before its budget: {_BEFORE_ITS_BUDGET[found['ended']]}."
    if found["skipped"]:
        yield "Nothing was measured: it was tuned like this before. Another --budget adds to it."
