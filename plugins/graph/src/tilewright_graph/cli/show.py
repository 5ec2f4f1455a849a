"""`tilewright network show FOLDER`: what a saved network takes, gives and runs on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.terminal_text import brief
from tilewright_cli.terminal import shared_options as shared
from tilewright_graph.cli import opened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tilewright.vocabulary.workload import TensorSpec


@click.command()
@opened.folder
@shared.as_json
def show(*, folder: Path, as_json: bool) -> None:
    """Say what a saved network takes, gives and runs on.

    FOLDER is what `compile` saved, or the folder of its run. No code is loaded, and no plugin.
    """
    from tilewright_graph.compiled import saved_network

    artifact, constants, signature = saved_network.load(opened.saved_folder(folder))
    told = {
        "name": signature.name,
        "target": artifact.target,
        "format": artifact.format,
        **{role: _tensors(getattr(signature, role)) for role in ("inputs", "outputs", "observed")},
        "code_bytes": len(artifact.data),
        "constant_bytes": constants.nbytes,
    }
    if as_json:
        shared.print_json(told)
        return
    shared.say(f"{brief(signature.name)} for {artifact.target}")
    for role in ("inputs", "outputs", "observed"):
        for name, spec in getattr(signature, role).items():
            shared.say(f"  {role:<9} {spec}  {brief(name)}")
    shared.say(f"  code      {len(artifact.data)} bytes of {artifact.format}")
    shared.say(f"  constants {constants.nbytes} bytes")


def _tensors(specs: Mapping[str, TensorSpec]) -> list[dict[str, Any]]:
    return [
        {"name": name, "shape": list(spec.shape), "dtype": spec.dtype}
        for name, spec in specs.items()
    ]
