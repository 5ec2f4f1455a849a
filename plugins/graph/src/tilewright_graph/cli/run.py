"""`tilewright network run FOLDER`: the answers of a saved network."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tilewright.errors import UsageError
from tilewright.terminal_text import brief
from tilewright_cli.terminal import shared_options as shared
from tilewright_graph.cli import opened


@click.command()
@opened.folder
@click.option("--inputs", type=shared.NAMED_PATH, metavar="FILE.npz", help="Random without it.")
@click.option(
    "--dim",
    "dims",
    multiple=True,
    metavar="NAME=SIZE",
    callback=shared.by_dimension,
    help="Of a dimension that has a range, in FILE.npz too; repeatable.  [the largest]",
)
@click.option("--out", type=shared.NAMED_PATH, metavar="FILE.npz", help="Where answers are kept.")
@click.option("--observed", is_flag=True, help="Inner tensors that are observed, too.")
@shared.seed
@shared.device
@shared.plugin_files
@shared.as_json
def run(
    *,
    folder: Path,
    inputs: Path | None,
    dims: Mapping[str, str],
    out: Path | None,
    observed: bool,
    seed: int,
    device: str | None,
    plugin: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Run a saved network on the arrays of a file.

    FILE.npz holds an array for each input, by name; pickled ones are refused.
    """
    from tilewright_graph.compiled.array_files import read_arrays, write_arrays
    from tilewright_graph.compiled.bucketed_network import BucketedNetwork
    from tilewright_graph.compiled.load_network import load_network
    from tilewright_graph.network.random_inputs import random_arrays
    from tilewright_pipeline.writing import check_file

    if out is not None:
        check_file(out, "--out")
    path, host = opened.saved_folder(folder), shared.load_host(plugin)
    with load_network(path, host, device) as network:
        specs = network.inputs
        if isinstance(network, BucketedNetwork):
            specs = network.specs(network.dimensions.given(dims, "--dim"))
        elif dims:
            remedy = "compile it with --dim NAME=LEAST..MOST"
            raise UsageError("the network takes one size", where="--dim", remedy=remedy)
        given = random_arrays(specs, seed) if inputs is None else read_arrays(inputs, specs)
        answers = network.observe(given) if observed else network.run(given)
    if out is not None:
        write_arrays(out, answers)
    told = [_told(name, array) for name, array in answers.items()]
    if as_json:
        of = None if inputs is None else str(inputs)
        shared.print_json({"inputs": of, "outputs": told, "out": str(out) if out else None})
        return
    for answer in told:
        spread = "".join(
            f", {word} {answer[word]:.6g}"
            for word in ("min", "mean", "max")
            if answer[word] is not None
        )
        shared.say(f"{brief(answer['name'])}  {answer['dtype']}{answer['shape']}{spread}")


def _told(name: str, array: Any) -> dict[str, Any]:
    """An array in short; its figures are None where it is empty or one of them is not finite."""
    figures = {word: float(getattr(array, word)()) if array.size else math.nan for word in _FIGURES}
    return {
        "name": name,
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        **{word: value if math.isfinite(value) else None for word, value in figures.items()},
    }


_FIGURES = ("min", "mean", "max")
