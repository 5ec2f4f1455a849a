"""`tilewright network benchmark FOLDER`: the latency of a saved network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tilewright.errors import UsageError
from tilewright_cli.terminal import shared_options as shared
from tilewright_graph.cli import opened


@click.command()
@opened.folder
@click.option("--runs", type=click.IntRange(1), default=100, show_default=True)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=10.0,
    show_default=True,
    help="About what all runs may take.",
)
@click.option("--peer", "peers", multiple=True, help="An oracle to be timed beside it; repeatable.")
@opened.model_options
@shared.seed
@shared.device
@shared.plugin_files
@shared.as_json
def benchmark(
    *,
    folder: Path,
    runs: int,
    seconds: float,
    peers: tuple[str, ...],
    model: str | None,
    frontend: str | None,
    weights_seed: int | None,
    seed: int,
    device: str | None,
    plugin: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Time a saved network, by itself or beside others.

    A --peer runs the --model that the network was compiled from, in turns with it. A network for
    ranges of sizes is timed at the largest; `network show` has the times of all.
    """
    from tilewright_cli.terminal.choice_text import choice_of
    from tilewright_graph.compiled.bucketed_network import BucketedNetwork
    from tilewright_graph.compiled.compiled_network import CompiledNetwork
    from tilewright_graph.compiled.load_network import load_network
    from tilewright_graph.network.network import Network
    from tilewright_graph.network.random_inputs import random_arrays

    if peers and model is None:
        raise UsageError(
            "a peer needs the model, which a saved network does not hold",
            where="--peer",
            remedy="name the one that it was compiled from: --model FILE",
        )
    path, host = opened.saved_folder(folder), shared.load_host(plugin)
    with load_network(path, host, device) as loaded:
        if isinstance(loaded, BucketedNetwork):
            compiled = loaded.networks[loaded.dimensions.most]
        else:
            compiled = loaded
        if model is None:
            compiled.run(random_arrays(compiled.inputs, seed))
            latency = compiled.benchmark(runs, seconds=seconds).to_json()
            told: dict[str, Any] = {
                "threads": compiled.target.threads,
                "tilewright": {"precision": compiled.precision, **latency},
                "peers": {},
            }
        else:
            context = opened.context_of(loaded, path, host, seed)
            given = opened.model_given(model, frontend, weights_seed)
            network: Network = opened.import_model(loaded, given, context)[Network]
            chosen = [choice_of("--peer", peer) for peer in peers]
            options = {"peers": chosen, "runs": runs, "seconds": seconds}
            stage = host.make("stage", "benchmark", options, context)
            values = {CompiledNetwork: compiled, Network: network}
            (told,) = stage.run(values).report["benchmark"]
    if as_json:
        shared.print_json(told)
        return
    for name, figures in {"tilewright": told["tilewright"], **told["peers"]}.items():
        spread = f"{figures['min_ms']:.4g} to {figures['max_ms']:.4g} ms in {figures['runs']} runs"
        shared.say(
            f"{name:<12} {figures['precision']:<8}  median {figures['median_ms']:.4g} ms, {spread}"
        )
