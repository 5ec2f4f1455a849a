"""`tilewright records distil FILE`: the best few records of each task."""

from __future__ import annotations

from pathlib import Path

import click

from tilewright_cli.terminal import shared_options as shared


@click.command()
@shared.records_file
@click.option(
    "--into", required=True, type=shared.NAMED_PATH, help="The records file to append to."
)
@click.option("--count", type=click.IntRange(1), default=1, show_default=True, help="Per task.")
@shared.plugin_files
@shared.as_json
def distil(*, file: Path, into: Path, count: int, plugin: tuple[Path, ...], as_json: bool) -> None:
    """Append the fastest configs of each task to another file that lacks them.

    By device and conditions, ranked as `records best` ranks them; of another system's log by their
    times.
    """
    from tilewright_pipeline.context.run_setup import open_store
    from tilewright_records.distillation import distilled
    from tilewright_records.merging import append_missing
    from tilewright_records.readers import expect_log

    host = shared.load_host(plugin)
    expect_log(file, host)
    added = append_missing(distilled(file, count, host), open_store(into, host))
    if as_json:
        shared.print_json({"added": added, "into": str(into)})
        return
    shared.say(f"{added} records added to {into}")
