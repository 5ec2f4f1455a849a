"""`tilewright records`: look at, check and merge records files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tilewright.cli import shared_options as shared
from tilewright.cli.records_adopt import adopt

_file = click.argument("file", type=click.Path(path_type=Path))


@click.group()
def records() -> None:
    """List, verify or merge records files, or see what of other systems' is adopted."""


records.add_command(adopt)


@records.command("ls")
@_file
@shared.plugin_files
@shared.as_json
def list_records(file: Path, as_json: bool, plugin: tuple[Path, ...]) -> None:
    """The best record of each task, by device and conditions."""
    from tilewright.records import BadLineError, Record, find_reader

    reader = find_reader(_existing(file), shared.load_host(plugin))
    lines = [line for _, line in reader.read(file)]
    bad_lines = sum(isinstance(line, BadLineError) for line in lines)
    found: dict[tuple[str, str, str], list[int]] = {}
    best: dict[tuple[str, str, str], float] = {}
    operators: dict[tuple[str, str, str], str] = {}
    for record in (line for line in lines if isinstance(line, Record)):
        conditions: str = record.trial.input.conditions.constants
        key = record.task.key, record.device, conditions
        counts = found.setdefault(key, [0, 0])
        counts[0] += 1
        counts[1] += record.seconds is None
        operators[key] = record.task.workload.operator
        if record.seconds is not None:
            best[key] = min(record.seconds, best.get(key, record.seconds))
    rows: list[dict[str, Any]] = [
        {
            "key": key,
            "operator": operators[key, device, conditions],
            "device": device,
            "conditions": conditions,
            "trials": trials,
            "failures": failures,
            "best_seconds": best.get((key, device, conditions)),
        }
        for (key, device, conditions), (trials, failures) in found.items()
    ]
    if as_json:
        shared.print_json({"records": rows, "bad_lines": bad_lines})
        return
    for row in rows:
        seconds = row["best_seconds"]
        shown = "all failed" if seconds is None else f"{seconds * 1e3:.4f} ms"
        click.echo(
            f"{row['key']}  {row['operator']:20} {row['device']} {row['conditions']}"
            f"  {row['trials']:5} trials  {row['failures']:4} failed  {shown}"
        )
    if bad_lines:
        click.echo(f"{bad_lines} bad lines; `tilewright records verify` shows them", err=True)


@records.command()
@_file
@shared.plugin_files
@shared.as_json
def verify(file: Path, as_json: bool, plugin: tuple[Path, ...]) -> int:
    """Check every line; exit with 1 where one is bad."""
    from tilewright.records import verify_log

    report = verify_log(_existing(file), shared.load_host(plugin))
    if as_json:
        shared.print_json(
            {
                "kinds": dict(report.kinds),
                "bad": [{"line": line, "reason": reason} for line, reason in report.bad],
                "other_versions": report.other_versions,
                "torn": report.torn,
            }
        )
    else:
        for line, reason in report.bad:
            click.echo(f"{file}:{line}: {reason}")
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(report.kinds.items()))
        click.echo(f"{kinds or 'no records'}, {len(report.bad)} bad lines")
    return 1 if report.bad else 0


@records.command()
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--into", required=True, type=click.Path(path_type=Path))
@shared.plugin_files
def merge(sources: tuple[Path, ...], into: Path, plugin: tuple[Path, ...]) -> None:
    """Append what other files know and this one does not."""
    from tilewright.records import JsonlRecordStore, merge_logs

    paths = [_existing(path) for path in sources]
    added = merge_logs(paths, JsonlRecordStore(into), shared.load_host(plugin))
    click.echo(f"{added} records added to {into}")


def _existing(path: Path) -> Path:
    from tilewright.errors import UsageError

    if not path.is_file():
        raise UsageError("no such records file", where=str(path), remedy="check the path")
    return path
