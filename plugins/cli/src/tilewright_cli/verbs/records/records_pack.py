"""`tilewright records pack FILE`: a records file as a package that pip installs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import version as installed_version
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from tilewright.errors import UsageError
from tilewright_cli.terminal import shared_options as shared
from tilewright_cli.terminal.known_devices import own_devices, run_device

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.device import Device


@click.command()
@shared.records_file
@click.option("--name", required=True, help="Of the pack: small letters, digits, hyphens.")
@click.option("--licence", required=True, help="Of the records, as SPDX writes it: CC0-1.0.")
@click.option("--version", default="1.0", show_default=True, help="Of the package.")
@click.option("--model", type=shared.NAMED_PATH, help="A cost model's file, to go with them.")
@click.option(
    "--output", type=shared.NAMED_PATH, help="The package's folder.  [tilewright-records-NAME]"
)
@shared.plugin_files
@shared.as_json
def pack(
    *,
    file: Path,
    name: str,
    licence: str,
    version: str,
    model: Path | None,
    output: Path | None,
    plugin: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Write a package of the records of a file, which pip installs.

    Where it is installed, a run on an equal machine has these records as history, and one on a
    machine like it measures their best first. `records distil` makes a file smaller before. A cost
    model comes first where nothing was measured, on the machines that it has learned from.
    """
    from tilewright.json_object import BadLineError
    from tilewright.plugins.loading.distributions import CORE, is_installed, known_distributions
    from tilewright.strategies.strategy import strategy_of
    from tilewright.vocabulary.record import Record
    from tilewright_pipeline.context.run_setup import open_store
    from tilewright_pipeline.writing import writing
    from tilewright_records.packs.package import PackText, packable_model, package_files
    from tilewright_records.packs.record_pack import RECORDS
    from tilewright_records.readers import read_log

    host = shared.load_host(plugin)
    open_store(file, host)  # or it says what the file is
    makers = [CORE, *(one for one in known_distributions() if is_installed(one))]
    text = PackText(name, licence, version, {one: installed_version(one) for one in makers})
    records = [one for _, one in read_log(file, host) if not isinstance(one, BadLineError)]
    trained = None if model is None else packable_model(model)
    files = package_files(records, _known_devices(file, host), text, trained)
    folder = output or Path(f"tilewright-records-{name}")
    if folder.exists():
        raise UsageError(f"{folder} exists", remedy="name another --output, or remove it")
    with writing(folder.absolute(), "the package"):
        for path, content in files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    manifest = json.loads(next(files[path] for path in files if path.endswith("manifest.json")))
    if as_json:
        shared.print_json({"folder": str(folder), "manifest": manifest})
        return
    size = len(next(files[path] for path in files if path.endswith(RECORDS)))
    beside = "" if trained is None else f", a cost model of {len(trained)} bytes"
    shared.say(
        f"{folder}: {manifest['records']} records of {manifest['tasks']} tasks, {size} bytes"
        f"{beside}, {licence}"
    )
    trials = [one for one in records if isinstance(one, Record)]
    strange = {one.fingerprint for one in trials} - {
        one.fingerprint for one in trials if strategy_of(one.config.strategy) in host.revisions
    }
    for device in manifest["devices"]:
        lacks = "" if "attributes" in device else "; not described: of use on equal machines only"
        if lacks and device["fingerprint"] in strange:
            lacks = "; of another system: of use where its log is imported, not from a pack"
        shared.say(f"{device['name']} {device['fingerprint']}: {device['records']}{lacks}")
    # Without a slash pip would take it for the name of a package elsewhere.
    path = str(folder) if folder.is_absolute() else f"./{folder}"
    shared.say(f"now: pip install {quote(path)}")


def _known_devices(file: Path, host: PluginHost) -> Iterator[Device]:
    """What the run in the file's folder was measured on, and this machine's devices."""
    measured = run_device(file.parent)
    if measured is not None:
        yield measured
    yield from own_devices(host)
