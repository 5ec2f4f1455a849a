"""`tilewright tasks FILE.yaml|MODEL`: the distinct tasks of a network, on one target or several."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from tilewright_cli.terminal import shared_options as shared

if TYPE_CHECKING:
    from tilewright.vocabulary.task_set import TaskSet
    from tilewright_pipeline.context.run_context import RunContext
    from tilewright_pipeline.yaml.settings import Setting


@click.command()
@click.argument("source", metavar="FILE.yaml|MODEL")
@click.option(
    "--target",
    "targets",
    multiple=True,
    help="In place of the file's target; given several times, they are compared.",
)
@shared.device
@shared.dims
@shared.settings
@shared.plugin_files
@shared.as_json
def tasks(
    *,
    source: str,
    targets: tuple[str, ...],
    device: str | None,
    dims: Mapping[str, str],
    settings: tuple[str, ...],
    plugin: tuple[Path, ...],
    as_json: bool,
) -> None:
    """List a network's tasks: weights, operations, sizes of spaces."""
    from tilewright_cli.terminal.pipeline_verb import pipeline_of
    from tilewright_pipeline.pipeline import Pipeline

    asked: list[Setting | str] = [*settings, *shared.dims_settings(dims)]
    found = []
    for target in targets or (None,):
        pipeline = Pipeline.load(
            pipeline_of(source), settings=asked, plugins=plugin, target=target, whole=False
        )
        found.append(pipeline.tasks(device=device))
    if len(found) > 1:
        _compare(found, as_json=as_json)
        return
    ((context, of_target),) = found
    narrowed = context.history.narrowed
    rows: list[dict[str, Any]] = []
    for entry in of_target:
        workload = entry.task.workload
        reference = context.host.reference(workload.operator)
        rows.append(
            {
                "key": workload.key,
                "name": entry.name,
                "weight": entry.weight,
                "text": reference.format(workload),
                "operations": reference.operations(workload),
                "configs": context.host.space(entry.task, narrowed(entry.task)).size,
                "workload": workload.to_json(),
            }
        )
    if as_json:
        shared.print_json({"target": str(context.target), "tasks": rows})
        return
    for row in rows:
        shared.say(
            f"{row['key']}  x{row['weight']:<3g} {row['operations'] / 1e6:10.1f} MFLOP "
            f"{row['configs']:>12} configs  {row['text']}"
        )
    if rows:
        given = [("--target", text) for text in targets]
        given += [("--device", device)] if device else []
        given += [("--dim", f"{name}={size}") for name, size in dims.items()]
        given += [("--set", text) for text in settings]
        given += [("--plugin", str(path)) for path in plugin]
        flags = "".join(f" {flag} {quote(text)}" for flag, text in given)
        hint = f"tilewright explain {quote(source)} {rows[0]['key']}{flags}"
        shared.say(f"more on one: {hint}", err=True)


def _compare(found: list[tuple[RunContext, TaskSet]], *, as_json: bool) -> None:
    from tilewright_cli.terminal.target_comparison import TargetComparison

    comparison = TargetComparison.of(found)
    if as_json:
        shared.print_json(comparison.to_json())
    else:
        for line in comparison.lines():
            shared.say(line)
