"""`tilewright records diff A B`: what another records file is better or worse at."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright_cli.terminal import shared_options as shared
from tilewright_pipeline.context.time_text import time_text

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import Ranked, RecordStore

_Part = tuple[str, str, str]
"""Task key, fingerprint, conditions."""


@click.command()
@click.argument("before", type=shared.RECORDS_FILE)
@click.argument("after", type=shared.RECORDS_FILE)
@shared.plugin_files
@shared.as_json
def diff(*, before: Path, after: Path, plugin: tuple[Path, ...], as_json: bool) -> None:
    """Compare the best times of the tasks of two files, by device and conditions."""
    from tilewright_pipeline.context.run_setup import open_store

    host = shared.load_host(plugin)
    stores = [open_store(path, host) for path in (before, after)]
    old, new = (_best(store, host) for store in stores)
    rows = [_row(part, old.get(part), new.get(part)) for part in {**old, **new}]
    if as_json:
        shared.print_json({"tasks": rows})
        return
    for row in rows:
        shared.say(_line(row, before, after))
    both = sum(row["before"] is not None and row["after"] is not None for row in rows)
    alone = [sum(row[name] is None for row in rows) for name in ("after", "before")]
    shared.say(f"{both} tasks in both, {alone[0]} only in {before}, {alone[1]} only in {after}")
    for path, store in zip((before, after), stores, strict=True):
        if strange := store.devices().total() - store.devices(host.revisions).total():
            left_out = f"{strange} records of strategies not installed here left out"
            shared.say(f"{path}: {left_out}", err=True)


def _best(store: RecordStore, host: PluginHost) -> dict[_Part, Ranked]:
    from tilewright_records.distillation import fastest

    each = (ranked for task in store.tasks() for ranked in fastest(task, store, 1, host))
    return {
        (r.record.task.key, r.record.fingerprint, r.record.trial.input.conditions.constants): r
        for r in each
    }


def _row(part: _Part, old: Ranked | None, new: Ranked | None) -> dict[str, Any]:
    key, fingerprint, conditions = part
    record = next(one for one in (old, new) if one is not None).record
    return {
        "key": key,
        "operator": record.task.workload.operator,
        "device": record.device,
        "fingerprint": fingerprint,
        "conditions": conditions,
        "before": None if old is None else old.seconds,
        "after": None if new is None else new.seconds,
    }


def _line(row: Mapping[str, Any], before: Path, after: Path) -> str:
    old, new = row["before"], row["after"]
    if old is None or new is None:
        told = f"{time_text(old or new)} only in {before if new is None else after}"
    else:
        told = f"{time_text(old)} became {time_text(new)}, {old / new:.2f} times as fast"
    return f"{row['key']}  {row['operator']:20} {row['device']} {row['conditions']}  {told}"
