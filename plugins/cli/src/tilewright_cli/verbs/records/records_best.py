"""`tilewright records best FILE [TASK]`: the fastest configs recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright_cli.terminal import shared_options as shared
from tilewright_pipeline.context.time_text import ranked_text

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import Ranked, RecordStore
    from tilewright.vocabulary.task import Task


@click.command()
@click.argument("file", type=shared.NAMED_PATH, default=shared.TUNE_RECORDS)
@click.argument("task", required=False)
@click.option("--count", type=click.IntRange(1), default=1, show_default=True, help="Per task.")
@shared.plugin_files
@shared.as_json
def best(
    *, file: Path, task: str | None, count: int, plugin: tuple[Path, ...], as_json: bool
) -> None:
    """List the fastest configs of each task, or of TASK.

    By target, device and conditions: what a run would use, that is, configs measured with the
    installed revision of their strategy, and of a config measured again the last measurement.
    `tilewright explain TASK` says what else is known of a task.
    """
    from tilewright.paths import names_a_file
    from tilewright_pipeline.api.task_text import find_task, names_a_key, names_a_task
    from tilewright_pipeline.context.run_setup import open_store
    from tilewright_records.distillation import fastest
    from tilewright_records.readers import recognised_format

    host = shared.load_host(plugin)
    is_log = names_a_file(file) and recognised_format(file, host) is not None
    if task is None and not is_log and names_a_task(str(file)):
        file, task = shared.TUNE_RECORDS, str(file)
    store = open_store(shared.RECORDS_FILE.convert(file, None, None), host)
    key = None
    if task is not None:
        asked = find_task(task, None, host, store)
        key = asked.key if names_a_key(task) and "@" in task else asked.workload.key
    found = [ranked for each in _tasks(store, key) for ranked in fastest(each, store, count, host)]
    rows = [_row(ranked, host) for ranked in found]
    stale = dict(store.stale(host.revisions))
    if as_json:
        shared.print_json({"records": rows, "stale": stale})
        return
    devices = told_apart(rows)
    for ranked, row in zip(found, rows, strict=True):
        config = row["config"]
        shared.say(
            f"{ranked_text(ranked)}  {row['text']} on {row['target']}, "
            f"{devices[row['device'], row['fingerprint']]}, "
            f"{row['conditions']}\n  {config['strategy']} {config['values']}"
        )
    if not rows:
        unknown = task is not None and not any(_tasks(store, key))
        which = f"no record of {task}; `tilewright records ls` lists those that there are"
        shared.say(which if unknown else "no record has a time that counts", err=True)
    for strategy, left_out in stale.items():
        shared.say(f"{left_out} records of another revision of '{strategy}' left out", err=True)
    if strange := store.devices().total() - store.devices(host.revisions).total():
        shared.say(f"{strange} records of strategies not installed here left out", err=True)


def told_apart(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """Names of devices by name and fingerprint, which is added where several share a name."""
    devices = {(row["device"], row["fingerprint"]) for row in rows}
    alike = Counter(name for name, _ in devices)
    return {(name, mark): f"{name} {mark}" if alike[name] > 1 else name for name, mark in devices}


def _tasks(store: RecordStore, key: str | None) -> Iterator[Task]:
    return (task for task in store.tasks() if key in (None, task.key, task.workload.key))


def _row(ranked: Ranked, host: PluginHost) -> dict[str, Any]:
    record, seconds = ranked
    workload = record.task.workload
    reference = host.references().get(workload.operator)
    return {
        "key": workload.key,
        "text": reference.format(workload) if reference else workload.operator,
        "target": str(record.task.target),
        "device": record.device,
        "fingerprint": record.fingerprint,
        "conditions": record.trial.input.conditions.constants,
        "seconds": record.seconds,
        "ranked_seconds": seconds,
        "samples": len(record.trial.result.costs),
        "revision": record.revision,
        "sequence": record.sequence,
        "config": record.config.to_json(),
    }
