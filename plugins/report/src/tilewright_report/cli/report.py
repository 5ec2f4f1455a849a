"""`tilewright report RUN...`: a run as one page, or several side by side."""

from __future__ import annotations

from pathlib import Path

import click

from tilewright_cli.terminal import shared_options as shared


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=shared.NAMED_PATH)
@click.option("--output", type=shared.NAMED_FILE, help="The page.  [report.html in the first RUN]")
@click.option("--open", "show", is_flag=True, help="Open it in the browser.")
@shared.records
@shared.plugin_files
@shared.as_json
def report(
    *,
    runs: tuple[Path, ...],
    output: Path | None,
    show: bool,
    records: Path | None,
    plugin: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Write the page of a run: one HTML file that needs nothing else.

    RUN is the folder of a run, or its run.json; of several, the page says what differs between
    them, and whether the differences are more than noise.
    """
    from tilewright_report import html
    from tilewright_report.pages.saving import save_page
    from tilewright_report.report_stage import PAGE

    folders = [run.parent if run.name == "run.json" else run for run in runs]
    name = PAGE if len(folders) == 1 else "comparison.html"
    path = output or folders[0] / name
    text = html(*folders, records=records, plugins=plugin)
    save_page(text, path)
    size = len(text.encode())
    if as_json:
        shared.print_json({"page": str(path), "bytes": size, "runs": len(folders)})
    else:
        shared.say(f"{path}: {size / 1e6:.2f} MB")
    if show:
        click.launch(path.absolute().as_uri())
