"""`tilewright tasks FILE.yaml`: the distinct tasks of a pipeline's network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tilewright.cli import shared_options as shared


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--target", help="In place of the file's target.")
@shared.device
@shared.settings
@shared.plugin_files
@shared.as_json
def tasks(
    *,
    file: Path,
    target: str | None,
    device: str | None,
    settings: tuple[str, ...],
    plugin: tuple[Path, ...],
    as_json: bool,
) -> None:
    """List a network's tasks with weight, operations and size of space."""
    from tilewright.pipeline import Pipeline

    pipeline = Pipeline.load(file, settings=settings, plugins=plugin, target=target)
    context, found = pipeline.tasks(device=device)
    rows: list[dict[str, Any]] = []
    for entry in found:
        workload = entry.task.workload
        reference = context.host.reference(workload.operator)
        rows.append(
            {
                "key": workload.key,
                "name": entry.name,
                "weight": entry.weight,
                "text": reference.format(workload),
                "operations": reference.operations(workload),
                "configs": context.host.space(entry.task, context.strategies).size,
                "workload": workload.to_json(),
            }
        )
    if as_json:
        shared.print_json({"target": str(context.target), "tasks": rows})
        return
    for row in rows:
        click.echo(
            f"{row['key']}  x{row['weight']:<3g} {row['operations'] / 1e6:10.1f} MFLOP "
            f"{row['configs']:>12} configs  {row['text']}"
        )
