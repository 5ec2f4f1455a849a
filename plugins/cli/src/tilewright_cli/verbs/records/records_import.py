"""`tilewright records import FILE`: another system's log, and what became of its lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tilewright.errors import UsageError
from tilewright_cli.terminal import shared_options as shared

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright_cli.verbs.records.line_fates import LineFate

_SHOWN = 5
"""Numbers of lines told for a reason; `--lines` has all."""


@click.command("import")
@click.argument("file", type=shared.RECORDS_FILE)
@click.option(
    "--into",
    type=shared.NAMED_PATH,
    default=shared.TUNE_RECORDS,
    show_default=True,
    help="The records file to append to.",
)
@click.option("--dry-run", is_flag=True, help="Append nothing.")
@click.option("--lines", is_flag=True, help="Say it of each line.")
@shared.target
@shared.plugin_files
@shared.as_json
def import_log(
    *,
    file: Path,
    into: Path,
    dry_run: bool,
    lines: bool,
    target: str | None,
    plugin: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Append another system's log to a records file, and say what became of every line.

    What a strategy makes of a config is measured before a search begins; no time of another system
    ever counts as one of ours.
    """
    from tilewright_cli.verbs.records.line_fates import Fate, line_fates
    from tilewright_pipeline.context.run_setup import open_store
    from tilewright_records.merging import merge_logs

    host = shared.load_host(plugin)
    resolved, name = host.resolve_target(target), _format(file, host)
    store = None if dry_run else open_store(into, host)
    fates = list(line_fates(file, resolved, host))
    proposals = sum(one.fate is Fate.PROPOSAL for one in fates)
    added = 0 if store is None else merge_logs([file], store, host).added
    if as_json:
        shared.print_json(
            {
                "target": str(resolved),
                "format": name,
                "into": None if dry_run else str(into),
                "added": added,
                "lines": [one.to_json() for one in fates],
            }
        )
        return
    for text in _each(fates) if lines else _summed_up(fates):
        shared.say(text)
    shared.say(
        f"{proposals} of {len(fates)} lines are first proposals on {resolved}; "
        + ("nothing appended" if dry_run else f"{added} records added to {into}")
    )


def _format(file: Path, host: PluginHost) -> str:
    """What the file is in. Raises UsageError for our own format, and for none that is known."""
    from tilewright_records.plugin import OWN_FORMAT
    from tilewright_records.readers import recognised_format

    name = recognised_format(file, host)
    if name is None:
        known = ", ".join(host.components("record_reader"))
        raise UsageError(
            "no line at its beginning is of a format known here",
            where=str(file),
            remedy=f"formats are {known}; take away what is above the first record",
        )
    if name == OWN_FORMAT:
        raise UsageError(
            "a records file of our own",
            where=str(file),
            remedy="add it to another: tilewright records merge FILE --into ANOTHER.jsonl",
        )
    return name


def _each(fates: Sequence[LineFate]) -> Iterator[str]:
    for one in fates:
        yield f"{one.line}: {one.fate}: {one.why}"
        yield from (f"  {config.strategy} {dict(config.values)}" for config in one.configs)


def _summed_up(fates: Sequence[LineFate]) -> Iterator[str]:
    """A row for each template, fate and reason, the commonest first."""
    rows = Counter((one.template, one.fate, one.why) for one in fates)
    for row, count in rows.most_common():
        template, fate, why = row
        numbers = [one.line for one in fates if (one.template, one.fate, one.why) == row]
        shown = ", ".join(map(str, numbers[:_SHOWN])) + ", ..." * (count > _SHOWN)
        yield f"{count:5} {template or 'lines'}: {fate}: {why} (line {shown})"
