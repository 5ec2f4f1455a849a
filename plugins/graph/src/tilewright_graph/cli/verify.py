"""`tilewright network verify FOLDER`: a saved network's answers against an oracle's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tilewright.errors import UsageError
from tilewright_cli.terminal import shared_options as shared
from tilewright_graph.cli import opened
from tilewright_pipeline.context.exit_codes import DONE, FAILED


@click.command()
@opened.folder
@opened.model_options
@click.option("--oracle", help="Who knows the answers.  [the one that is installed]")
@click.option("--rtol", type=float, help="The largest relative error that passes.")
@shared.seed
@shared.device
@shared.plugin_files
@shared.as_json
def verify(
    *,
    folder: Path,
    model: str | None,
    frontend: str | None,
    weights_seed: int | None,
    oracle: str | None,
    rtol: float | None,
    seed: int,
    device: str | None,
    plugin: tuple[Path, ...],
    as_json: bool,
) -> int:
    """Compare a saved network's answers with an oracle's.

    The oracle runs the --model that the network was compiled from: a saved network does not hold
    it. Exit code 1 where the answers differ.
    """
    from tilewright_cli.terminal.choice_text import choice_of
    from tilewright_graph.compiled.bucketed_network import BucketedNetwork
    from tilewright_graph.compiled.compiled_network import CompiledNetwork
    from tilewright_graph.compiled.load_network import load_network

    if model is None:
        raise UsageError(
            "a saved network does not hold its model",
            where=str(folder),
            remedy="name the one that it was compiled from: --model FILE",
        )
    path, host = opened.saved_folder(folder), shared.load_host(plugin)
    options: dict[str, Any] = {"required": True, **({} if rtol is None else {"rtol": rtol})}
    if oracle is not None:
        options["oracle"] = choice_of("--oracle", oracle)
    with load_network(path, host, device) as compiled:
        context = opened.context_of(compiled, path, host, seed)
        given = opened.model_given(model, frontend, weights_seed)
        values = opened.import_model(compiled, given, context)
        if isinstance(compiled, BucketedNetwork):
            values[CompiledNetwork] = compiled.networks[compiled.dimensions.most]
        stage = host.make("stage", "verify", options, context)
        result = stage.run({type(compiled): compiled, **values})
    told = result.report["verify"]
    if as_json:
        shared.print_json(told)
    else:
        verdict, error = "passed" if result.ok else "failed", told["max_rel_error"]
        how = "an answer is not finite" if error is None else f"relative error {error:.3g}"
        shared.say(f"{verdict} against {told['oracle']}: {how}")
    return DONE if result.ok else FAILED
