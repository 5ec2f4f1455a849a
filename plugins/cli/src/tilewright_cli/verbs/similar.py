"""`tilewright similar A B`: how alike two tasks are, or two devices, and what transfers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.errors import UsageError
from tilewright_cli.terminal import shared_options as shared
from tilewright_cli.terminal.known_devices import named_device

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.task import Task


@click.command()
@click.argument("a")
@click.argument("b")
@shared.target
@shared.records
@shared.plugin_files
@shared.as_json
def similar(
    *,
    a: str,
    b: str,
    target: str | None,
    records: Path | None,
    plugin: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Say how alike two tasks are, or two devices, and what of A is of use for B.

    A and B are tasks, as `tune` takes them; or devices: one of this machine by its name, that of a
    run by the run's folder or records file, or that of an installed pack by the pack's name.
    """
    from tilewright_pipeline.api.task_text import names_a_task

    host = shared.load_host(plugin)
    tasks = [names_a_task(text) and Path(text).name != "run.json" for text in (a, b)]
    if tasks[0] != tasks[1]:
        raise UsageError(
            "a task and a device have nothing to compare",
            where=f"{a}, {b}",
            remedy="give two tasks, or two devices",
        )
    if tasks[0]:
        told = _of_tasks(a, b, target, records or shared.TUNE_RECORDS, host)
    else:
        told = _of_devices(named_device(a, host), named_device(b, host))
    if as_json:
        shared.print_json(told)
        return
    for line in _lines(told):
        shared.say(line)


def _of_tasks(
    a: str, b: str, target: str | None, records: Path, host: PluginHost
) -> dict[str, Any]:
    from tilewright_pipeline.api.task_text import find_task
    from tilewright_pipeline.context.run_setup import open_store
    from tilewright_records.distillation import fastest
    from tilewright_records.similarity import similarity

    store = open_store(records, host)
    resolved = host.resolve_target(target) if target else None
    first, second = (find_task(text, resolved, host, store) for text in (a, b))
    best = [one.record.config for one in fastest(first, store, 1, host)]
    found = [_adapted(config, second, host) for config in best]
    both = {one.name for one in host.strategies(first)} & {s.name for s in host.strategies(second)}
    return {
        "tasks": [task.key for task in (first, second)],
        "similarity": similarity(first.workload, second.workload),
        "strategies": sorted(both),
        "records": str(records),
        "best": [config.to_json() for config in best],
        "transfers": [config.to_json() for config in found if config is not None],
    }


def _adapted(config: ConfigEntity, task: Task, host: PluginHost) -> ConfigEntity | None:
    from tilewright.space.nearest import nearest_config

    return nearest_config(host.space(task), config)


def _of_devices(a: Device, b: Device) -> dict[str, Any]:
    from tilewright.canonical import thaw
    from tilewright_records.similarity import LIKE, device_similarity

    names = dict.fromkeys((*a.attributes, *b.attributes))
    values = {name: [thaw(one.attributes.get(name)) for one in (a, b)] for name in names}
    alike = device_similarity(a, b)
    use = "history" if a.fingerprint == b.fingerprint else "first proposals"
    return {
        "devices": [f"{one.name} {one.fingerprint}" for one in (a, b)],
        "similarity": alike,
        "differ": {name: pair for name, pair in values.items() if pair[0] != pair[1]},
        "records_are": use if alike >= LIKE else "nothing",
    }


def _lines(told: dict[str, Any]) -> Iterator[str]:
    yield f"{told['similarity']:.0%} alike: {' and '.join(told.get('devices') or told['tasks'])}"
    if "devices" in told:
        for name, (one, other) in told["differ"].items():
            yield f"  {name}: {one} and {other}"
        yield {
            "history": "equal machines: records of one count on the other",
            "first proposals": "in a pack, the best of one are first proposals on the other",
            "nothing": "records of one are of no use on the other, but with --foreign-records",
        }[told["records_are"]]
        return
    none_of_the_first = f"no record of the first in {told['records']}"
    yield f"  strategies of both: {', '.join(told['strategies']) or 'none'}"
    for config in told["transfers"]:
        shown = f"{config['strategy']} {config['values']}"
        yield f"  first proposal, from the best of the first: {shown}"
    if not told["transfers"]:
        names = ", ".join(config["strategy"] for config in told["best"])
        best = f"the best of the first is by {names}, which the second has not"
        yield f"  nothing to propose: {best if names else none_of_the_first}"
