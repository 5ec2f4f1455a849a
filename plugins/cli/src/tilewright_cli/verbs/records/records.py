"""`tilewright records`: look at, check, merge and shorten records files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright_cli.terminal import shared_options as shared
from tilewright_cli.verbs.records.records_best import best, told_apart
from tilewright_cli.verbs.records.records_diff import diff
from tilewright_cli.verbs.records.records_distil import distil
from tilewright_cli.verbs.records.records_import import import_log
from tilewright_cli.verbs.records.records_pack import pack
from tilewright_pipeline.context.exit_codes import DONE, FAILED
from tilewright_pipeline.context.time_text import time_text

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.record import Record
    from tilewright_records.store.store import JsonlRecordStore


@click.group()
def records() -> None:
    """Show, compare, verify, import, merge, pack or compact records files."""


records.add_command(best)
records.add_command(diff)
records.add_command(distil)
records.add_command(import_log)
records.add_command(pack)


@records.command("ls")
@shared.records_file
@click.option("--like", metavar="TASK", help="Only tasks of its kind, the most similar first.")
@shared.plugin_files
@shared.as_json
def list_records(*, file: Path, like: str | None, as_json: bool, plugin: tuple[Path, ...]) -> None:
    """List the best record of each task, by device and conditions."""
    from tilewright.json_object import BadLineError
    from tilewright.vocabulary.record import Record
    from tilewright_pipeline.api.task_text import find_task
    from tilewright_records.decoding import OtherVersionError
    from tilewright_records.readers import JsonlReader, expect_log, find_reader, read_log
    from tilewright_records.similarity import similarity
    from tilewright_records.store.store import JsonlRecordStore

    host = shared.load_host(plugin)
    expect_log(file, host)
    ours = isinstance(find_reader(file, host), JsonlReader)
    store = JsonlRecordStore(file) if ours else None
    lines = [line for _, line in read_log(file, host)]
    bad = [line for line in lines if isinstance(line, BadLineError)]
    bad_lines = sum(not isinstance(line, OtherVersionError) for line in bad)
    found: dict[tuple[str, str, str, str], list[Record]] = {}
    for record in (line for line in lines if isinstance(line, Record)):
        conditions = record.trial.input.conditions.constants
        part = record.task.key, record.device, record.fingerprint, conditions
        found.setdefault(part, []).append(record)
    rows: list[dict[str, Any]] = [
        {
            "key": key,
            "operator": records[0].task.workload.operator,
            "device": device,
            "fingerprint": fingerprint,
            "conditions": conditions,
            "trials": len(records),
            "failures": sum(record.seconds is None for record in records),
            "best_seconds": _best_seconds(records, store, host),
        }
        for (key, device, fingerprint, conditions), records in found.items()
    ]
    if like is not None:
        wanted = find_task(like, None, host, store).workload
        alike = {r.task.key: similarity(wanted, r.task.workload) for r in chain(*found.values())}
        rows = [{**row, "similarity": alike[row["key"]]} for row in rows if alike[row["key"]]]
        rows.sort(key=lambda row: -row["similarity"])
    if as_json:
        shared.print_json({"records": rows, "bad_lines": bad_lines})
        return
    for line in _lines(rows):
        shared.say(line)
    if not rows:
        shared.say("no trial in it", err=True)
    if bad_lines:
        shared.say(f"{bad_lines} bad lines; `tilewright records verify` shows them", err=True)


def _lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    devices = told_apart(rows)
    for row in rows:
        seconds, device = row["best_seconds"], devices[row["device"], row["fingerprint"]]
        failed = row["failures"] == row["trials"]
        unknown = "all failed" if failed else "no time that counts"
        shown = unknown if seconds is None else time_text(seconds)
        yield (
            f"{row['key']}  {row['operator']:20} {device} {row['conditions']}"
            f"  {row['trials']:5} trials  {row['failures']:4} failed  {shown}"
            + (f"  {row['similarity']:.0%} alike" if "similarity" in row else "")
        )


def _best_seconds(
    records: Sequence[Record], store: JsonlRecordStore | None, host: PluginHost
) -> float | None:
    """That of `records best`; in another system's log, where none counts, the smallest."""
    if store is None:
        return min((r.seconds for r in records if r.seconds is not None), default=None)
    from tilewright.vocabulary.measure import Conditions
    from tilewright.vocabulary.record import Query

    first = records[0]
    conditions = Conditions(first.trial.input.conditions.constants)
    best = store.best(Query(first.task, conditions, first.fingerprint, host.revisions))
    return None if best is None else best.seconds


@records.command()
@shared.records_file
@shared.plugin_files
@shared.as_json
def verify(file: Path, as_json: bool, plugin: tuple[Path, ...]) -> int:
    """Check every line; exit with 1 where one is bad."""
    from tilewright_records.checks import verify_log
    from tilewright_records.readers import expect_log

    host = shared.load_host(plugin)
    expect_log(file, host)
    report = verify_log(file, host)
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
            shared.say(f"{file}:{line}: {reason}")
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(report.kinds.items()))
        later = f", {report.other_versions} of a later format" if report.other_versions else ""
        torn = ", the last one without its end" if report.torn else ""
        shared.say(f"{kinds or 'no records'}, {len(report.bad)} bad lines{later}{torn}")
    return FAILED if report.bad else DONE


@records.command()
@shared.records_file
@shared.plugin_files
@shared.as_json
def compact(file: Path, plugin: tuple[Path, ...], as_json: bool) -> None:
    """Drop the lines that no query needs, in place, and count them.

    Dropped are earlier measurements of configs that were measured again, graph choices made anew,
    trials that failed through no fault of their config, and bad lines. What a stage spent is added
    up.
    """
    from tilewright_pipeline.context.run_setup import open_store
    from tilewright_records.store.compact import compact_log

    open_store(file, shared.load_host(plugin))  # or it says what the file is
    done = compact_log(file)
    if as_json:
        shared.print_json(done.to_json())
        return
    for what, count in sorted(done.lost.items()):
        shared.say(f"lost, {what}: {count}")
    shared.say(f"{done.lines} lines left; {done.bytes_before} bytes became {done.bytes_after}")


@records.command()
@click.argument("sources", nargs=-1, required=True, metavar="FILE...", type=shared.RECORDS_FILE)
@click.option(
    "--into", required=True, type=shared.NAMED_PATH, help="The records file to append to."
)
@shared.plugin_files
@shared.as_json
def merge(sources: tuple[Path, ...], into: Path, plugin: tuple[Path, ...], as_json: bool) -> None:
    """Append to a file the records of other files that it lacks."""
    from tilewright_pipeline.context.run_setup import open_store
    from tilewright_records.merging import merge_logs
    from tilewright_records.readers import expect_log

    host = shared.load_host(plugin)
    for source in sources:
        expect_log(source, host)
    done = merge_logs(sources, open_store(into, host), host)
    if as_json:
        shared.print_json({**done._asdict(), "into": str(into)})
        return
    shared.say(f"{done.added} records added to {into}")
    if done.left_behind:
        said = "lines left behind; `tilewright records verify` says why"
        shared.say(f"{done.left_behind} {said}", err=True)
