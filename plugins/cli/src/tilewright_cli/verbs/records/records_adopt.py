"""`tilewright records adopt FILE`: what strategies make of other systems' records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from tilewright_cli.terminal import shared_options as shared


@click.command()
@shared.records_file
@shared.target
@click.option("--configs", is_flag=True, help="Print each adopted config.")
@shared.plugin_files
@shared.as_json
def adopt(
    *, file: Path, target: str | None, configs: bool, plugin: tuple[Path, ...], as_json: bool
) -> None:
    """Count the records of another system that become configs here.

    Once they are merged into a run's records, these configs are measured before the search begins.
    """
    from tilewright.vocabulary.record import Record
    from tilewright.vocabulary.task import Task
    from tilewright_pipeline.tuning.history import translated
    from tilewright_records.readers import read_log

    host = shared.load_host(plugin)
    resolved = host.resolve_target(target)
    lines = [line for _, line in read_log(file, host)]
    records = [line for line in lines if isinstance(line, Record)]
    of_template = Counter(record.config.strategy for record in records)
    adopted: Counter[tuple[str, str]] = Counter()
    rows: list[dict[str, Any]] = []
    for record in records:
        task = Task(record.task.workload, resolved)
        for config in translated(task, [record], host):
            feasible = host.space(task).is_valid(config)
            adopted[record.config.strategy, config.strategy] += feasible
            rows += [{"from": record.config.to_json(), "to": config.to_json()}] if feasible else []
    templates: list[dict[str, Any]] = [
        {
            "template": template,
            "records": count,
            "adopted": {to: n for (of, to), n in sorted(adopted.items()) if of == template},
        }
        for template, count in sorted(of_template.items())
    ]
    if as_json:
        shared.print_json(
            {
                "target": str(resolved),
                "lines": len(lines),
                "records": len(records),
                "adopted": len(rows),
                "templates": templates,
                "configs": rows if configs else [],
            }
        )
        return
    for told in templates:
        shown = ", ".join(f"{n} by {to}" for to, n in told["adopted"].items()) or "none"
        shared.say(f"{told['template']}: {told['records']} records, adopted: {shown}")
    for row in rows if configs else ():
        shared.say(f"{row['from']['values']}\n  {row['to']['strategy']} {row['to']['values']}")
    shared.say(f"{len(rows)} of {len(lines)} records are first proposals on {resolved}")
