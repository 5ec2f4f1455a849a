"""`tilewright space TASK`: what can be chosen for a task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tilewright.cli import shared_options as shared


@click.command()
@click.argument("task")
@shared.target
@click.option("--strategies", default="*", show_default=True, help="Glob over alternatives.")
@click.option("--records", type=click.Path(path_type=Path), help="Where a key is looked up.")
@shared.plugin_files
@shared.as_json
def space(
    *,
    task: str,
    target: str,
    strategies: str,
    records: Path | None,
    plugin: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Show a task's alternatives with their knobs and values."""
    from tilewright.records import JsonlRecordStore
    from tilewright.task_text import find_task

    host = shared.load_host(plugin)
    store = JsonlRecordStore(records) if records is not None else None
    found = find_task(task, host.resolve_target(target), host, store)
    made = host.space(found, strategies)
    rows: list[dict[str, Any]] = [
        {
            "name": alternative.name,
            "configs": alternative.size,
            "knobs": [
                {"name": knob.name, "kind": knob.kind, "values": len(knob)}
                for knob in alternative.knobs
            ],
        }
        for alternative in made.alternatives
    ]
    fallback = host.fallback_config(found, made).to_json()
    if as_json:
        shared.print_json(
            {"key": found.key, "hash": made.hash, "alternatives": rows, "fallback": fallback}
        )
        return
    click.echo(f"{found.key}: {made.size} configs, hash {made.hash}")
    for row in rows:
        click.echo(f"{row['name']}: {row['configs']} configs")
        for knob in row["knobs"]:
            click.echo(f"  {knob['name']:24} {knob['kind']:10} {knob['values']} values")
    click.echo(f"fallback: {fallback['strategy']} {fallback['values']}")
