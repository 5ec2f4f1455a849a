"""`tilewright space TASK`: what can be chosen for a task."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright_cli.terminal import shared_options as shared

if TYPE_CHECKING:
    from tilewright.strategies.strategy import Declined


@click.command()
@click.argument("task")
@click.option("--target", help="KIND:name=value,... or a short text.  [that of TASK, or native]")
@shared.precision
@click.option("--strategies", default="*", show_default=True, help="Glob over alternatives.")
@click.option("--count", is_flag=True, help="Count the feasible configs.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Print N feasible configs.")
@shared.seed
@shared.records
@shared.plugin_files
@shared.as_json
def space(
    *,
    task: str,
    target: str | None,
    precision: str | None,
    strategies: str,
    count: bool,
    sample: int | None,
    seed: int,
    records: Path | None,
    plugin: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Show a task's alternatives with their knobs, and the strategies that offer none.

    TASK is operator(arguments), a key in the records file, or a JSON file.
    """
    from tilewright_cli.terminal.key_records import records_for
    from tilewright_pipeline.api.task_text import find_task, names_a_key
    from tilewright_pipeline.context.run_setup import open_store

    host = shared.load_host(plugin).at_precision(precision or "float32")
    kept = records or records_for(task, host)
    store = open_store(kept, host) if names_a_key(task) else None
    found = find_task(task, host.resolve_target(target) if target else None, host, store)
    made = host.space(found, strategies)
    declined = host.declined(found, strategies)
    told: dict[str, Any] = {
        "key": found.key,
        "hash": made.hash,
        "configs": made.size,
        "alternatives": [
            {
                "name": alternative.name,
                "configs": alternative.size,
                "knobs": [
                    {"name": knob.name, "kind": knob.kind, "values": len(knob)}
                    for knob in alternative.knobs
                ],
            }
            for alternative in made.alternatives
        ],
        "declined": [asdict(each) for each in declined],
        "fallback": host.fallback_config(found, made).to_json(),
    }
    if count:
        told["feasible"] = made.valid_count()
    if sample is not None:
        drawn = made.sample(random.Random(seed), sample)
        told["sample"] = [config.to_json() for config in drawn]
    if as_json:
        shared.print_json(told)
    else:
        shared.say("\n".join(_lines(told, declined)))


def _lines(told: dict[str, Any], declined: Sequence[Declined]) -> Iterator[str]:
    yield f"{told['key']}: {told['configs']} configs, hash {told['hash']}"
    if "feasible" in told:
        count = told["feasible"]
        yield f"feasible: {count if count is not None else 'too many to count'}"
    for row in told["alternatives"]:
        yield f"{row['name']}: {row['configs']} configs"
        for knob in row["knobs"]:
            yield f"  {knob['name']:24} {knob['kind']:10} {knob['values']} values"
    yield from map(str, declined)
    for name in ("fallback", "sample"):
        for config in [told[name]] if name == "fallback" else told.get(name, ()):
            yield f"{name}: {config['strategy']} {config['values']}"
