"""`tilewright explain TASK|FILE.yaml|MODEL [PART]`: why a config was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tilewright.errors import UsageError
from tilewright_cli.terminal import shared_options as shared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright_pipeline.context.explaining import Explanation
    from tilewright_pipeline.yaml.settings import Setting


@click.command()
@click.argument("source", metavar="TASK|FILE.yaml|MODEL")
@click.argument("part", required=False)
@shared.records
@click.option("--out", type=shared.NAMED_PATH, help="The run's folder.  [runs/NAME]")
@shared.component(
    "--target", help="In place of the file's; for a TASK", shown="[that of TASK, or {}]"
)
@shared.precision
@shared.device
@shared.dims
@shared.settings
@shared.plugin_files
@shared.as_json
def explain(
    *,
    source: str,
    part: str | None,
    records: Path | None,
    out: Path | None,
    target: str | None,
    precision: str | None,
    device: str | None,
    dims: Mapping[str, str],
    settings: tuple[str, ...],
    plugin: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Say why a config was chosen, from the records.

    For a TASK (its text, its key in the records of `tune` or of any run in `runs`, or a JSON file):
    which config it gets, from which record or rule, and what else was considered. For a network:
    why its kernels have the layouts they have. PART is a kernel's name or key, or those of a task,
    for all its kernels; without it, every kernel that does not have its own best config is
    explained. Nothing is measured.
    """
    from tilewright_pipeline.api.task_text import names_a_task

    asked: list[Setting | str] = [*settings, *shared.dims_settings(dims)]
    if names_a_task(source):
        if part is not None or asked:
            raise UsageError(
                "a task has no parts and no stages",
                where=source,
                remedy="give it alone; --records names another records file",
            )
        told = _of_task(
            source,
            records=records,
            out=out,
            target=target,
            precision=precision,
            device=device,
            plugin=plugin,
        )
        if as_json:
            shared.print_json(dict(told.to_json()))
        else:
            shared.say("\n".join(told.lines()))
        return
    if _is_a_bare_name(source):
        raise UsageError(
            "no file, and no model that has a frontend",
            where=source,
            remedy="a kernel or a task is named behind its network: "
            f"tilewright explain FILE.yaml|MODEL {source}",
        )
    if precision is not None:
        asked.append(shared.setting("precision", precision, f"--precision {precision}"))
    if records is not None:
        asked.append(shared.setting("records", str(records), f"--records {records}"))
    found, none = _of_network(
        source, part, out=out, target=target, device=device, settings=asked, plugin=plugin
    )
    if as_json:
        shared.print_json({"nodes": [dict(explanation.to_json()) for explanation in found]})
        return
    for explanation in found:
        shared.say("\n".join(explanation.lines()))
    if not found:
        shared.say(none)


def _is_a_bare_name(source: str) -> bool:
    """Whether it may be a kernel's or a task's name, and is no model: those have a `.` or a `:`."""
    return source.replace("+", "_").isidentifier() and not Path(source).exists()


def _of_task(
    source: str,
    *,
    records: Path | None,
    out: Path | None,
    target: str | None,
    precision: str | None,
    device: str | None,
    plugin: tuple[Path, ...],
) -> Explanation:
    from tilewright_cli.terminal.key_records import records_for
    from tilewright_pipeline.api.functions import explain as explain_task

    host = shared.load_host(plugin)
    file = records or (out / "records.jsonl" if out else records_for(source, host))
    (told,) = explain_task(
        source,
        target=target,
        precision=precision or "float32",
        records=file,
        device=device,
        host=host,
    )
    return told


def _of_network(
    source: str,
    part: str | None,
    *,
    out: Path | None,
    target: str | None,
    device: str | None,
    settings: Sequence[Setting | str],
    plugin: tuple[Path, ...],
) -> tuple[list[Explanation], str]:
    """The explanations, and what to say where there are none."""
    from tilewright_cli.terminal.pipeline_verb import pipeline_of
    from tilewright_pipeline.context.explaining import no_such_part
    from tilewright_pipeline.pipeline import Pipeline

    pipeline = Pipeline.load(
        pipeline_of(source), settings=settings, plugins=plugin, target=target, whole=False
    )
    context = pipeline.context(out=out, device=device, writes=False)
    networks = pipeline.explainable(context)
    none = "every node is at its own best"
    if not context.store.tasks():
        shared.say(f"no record in {context.store.path}: all times are estimates", err=True)
        names = ", ".join(name for network in networks for name in network.parts)
        none = f"nothing was measured; name a kernel to see what its config rests on: {names}"
    found = [one for network in networks for one in network.explain(part)]
    if part is not None and not found:
        raise no_such_part(part, networks).placed(source)
    return found, none
