"""`tilewright network show FOLDER`: what a saved network takes, gives and runs on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.terminal_text import brief
from tilewright_cli.terminal import shared_options as shared
from tilewright_graph.cli import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tilewright.vocabulary.workload import TensorSpec


@click.command()
@opened.folder
@shared.as_json
def show(*, folder: Path, as_json: bool) -> None:
    """Say what a saved network takes, gives and runs on.

    FOLDER is what `compile` saved, or the folder of its run. No code is loaded, and no plugin.
    """
    from tilewright_graph.compiled.saved import saved_buckets, saved_folder, saved_network
    from tilewright_graph.compiled.size_table import size_table, table_text

    path = opened.saved_folder(folder)
    of_sizes: dict[str, Any] = {}
    shown: Callable[[str, TensorSpec], str] = _spec_text
    table = ""
    if saved_folder.saved_version(path) == saved_folder.BUCKETED:
        dimensions, buckets, constants = saved_buckets.load(path)
        artifacts = [one.artifact for one in buckets.values()]
        signature, shown = buckets[dimensions.most].signature, dimensions.text
        seconds = {sizes: one.seconds for sizes, one in buckets.items()}
        rows = size_table(dimensions, seconds, saved_buckets.least_seconds(buckets))
        table = table_text(dimensions, rows)
        of_sizes = {
            "dimensions": {one.name: str(one.sizes) for one in dimensions.each},
            "table": [row.to_json(dimensions) for row in rows],
        }
    else:
        artifact, constants, signature = saved_network.load(path)
        artifacts = [artifact]
    tensors = {
        "inputs": signature.asked,
        "outputs": signature.outputs,
        "observed": signature.observed,
    }
    code_bytes = sum(len(one.data) for one in artifacts)
    told = {
        "name": signature.name,
        "target": artifacts[0].target,
        "format": artifacts[0].format,
        **of_sizes,
        **{role: _tensors(specs) for role, specs in tensors.items()},
        "code_bytes": code_bytes,
        "constant_bytes": constants.nbytes,
    }
    if as_json:
        shared.print_json(told)
        return
    shared.say(f"{brief(signature.name)} for {artifacts[0].target}")
    for role, specs in tensors.items():
        for name, spec in specs.items():
            shared.say(f"  {role:<9} {shown(name, spec)}  {brief(name)}")
    shared.say(f"  code      {code_bytes} bytes of {artifacts[0].format}")
    shared.say(f"  constants {constants.nbytes} bytes")
    if table:
        shared.say(table)


def _spec_text(_name: str, spec: TensorSpec) -> str:
    return str(spec)


def _tensors(specs: Mapping[str, TensorSpec]) -> list[dict[str, Any]]:
    return [
        {"name": name, "shape": list(spec.shape), "dtype": spec.dtype}
        for name, spec in specs.items()
    ]
