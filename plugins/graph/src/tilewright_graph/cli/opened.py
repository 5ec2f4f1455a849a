"""What the verbs of `tilewright network` have in common: the folder, what it holds, its model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.errors import UsageError
from tilewright.paths import names_a_file
from tilewright_cli.terminal import shared_options as shared

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright_graph.compiled.bucketed_network import BucketedNetwork
    from tilewright_graph.compiled.compiled_network import CompiledNetwork
    from tilewright_pipeline.context.run_context import RunContext

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

folder: Decorator = click.argument("folder", type=shared.NAMED_PATH)
_MODEL_OPTIONS = (
    click.option("--model", help="What it was compiled from: a file, or onnx-light:NAME."),
    click.option(
        "--frontend",
        metavar="NAME[:OPTION=VALUE,...]",
        help="Who reads it, where that is not clear or has options: zoo:size=32.",
    ),
    click.option(
        "--weights-seed",
        type=click.IntRange(0),
        help="Of the random weights that it was compiled with; by default the model's own.",
    ),
)


def model_options(function: Any) -> Any:
    """Declare the options that `model_given` takes."""
    for option in reversed(_MODEL_OPTIONS):
        function = option(function)
    return function


def model_given(model: str, frontend: str | None, weights_seed: int | None) -> dict[str, Any]:
    """The options of the stage `import` that they stand for."""
    from tilewright_cli.terminal.choice_text import choice_of

    options: dict[str, Any] = {"model": model}
    if frontend is not None:
        options["frontend"] = choice_of("--frontend", frontend)
    if weights_seed is not None:
        options["weights"] = {"seed": weights_seed}
    return options


def saved_folder(path: Path) -> Path:
    """The folder itself, or `network` in it if it is a run's folder."""
    of_run = path / "network"
    there, below = (names_a_file(folder / "manifest.json") for folder in (path, of_run))
    return of_run if below and not there else path


def context_of(
    network: CompiledNetwork | BucketedNetwork, path: Path, host: PluginHost, seed: int
) -> RunContext:
    """What stages need that look at a network: nothing is measured or written by itself."""
    from tilewright_pipeline.context.run_setup import make_context

    return make_context(
        host,
        name=network.name,
        folder=path,
        target=str(network.target),
        seed=seed,
        measures=False,
        writes=False,
        saves=False,
    )


def import_model(
    compiled: CompiledNetwork | BucketedNetwork, given: Mapping[str, Any], context: RunContext
) -> dict[type, Any]:
    """What `import` makes of a model given, by type; sizes are those that it was compiled for.

    Raises UsageError where it is plainly another one.
    """
    from tilewright_graph.compiled.bucketed_network import BucketedNetwork
    from tilewright_graph.network.network import Network

    options, model = dict(given), given["model"]
    if isinstance(compiled, BucketedNetwork):
        options["dims"] = _sizes_of(compiled, given, context.host)
    else:
        options["shapes"] = {name: list(spec.shape) for name, spec in compiled.inputs.items()}
    try:
        made = context.host.make("stage", "import", options, context).run({}).values
    except UsageError as error:  # nobody gave sizes but the network
        if not ("shapes" in error.message or error.where.endswith("dims")):
            raise
        raise _another(error.message.removeprefix("shapes: "), model) from None
    values = {type(value): value for value in made}
    network: Network = values[Network]
    ours = {**compiled.inputs, **compiled.outputs, **compiled.observed}
    theirs = {name: network.specs[name] for name in (*network.asked, *network.results)}
    for name, spec in theirs.items():
        if (name not in ours) or (ours[name].shape, ours[name].dtype) != (spec.shape, spec.dtype):
            raise _another(f"this one has {name!r}, {spec}", model)
    return values


def _sizes_of(
    compiled: BucketedNetwork, given: Mapping[str, Any], host: PluginHost
) -> dict[str, str]:
    """The sizes of all dimensions that the model names, as the network has them.

    Its ranges come first, in their order.
    """
    from tilewright.options import Choice
    from tilewright_graph.frontends.frontend import NamesDimensions, frontend_for

    found = {one.name: str(one.sizes) for one in compiled.dimensions.each}
    model = given["model"]
    chosen = given.get("frontend") or Choice(frontend_for(model, host))
    frontend = host.choose("frontend", chosen, host)
    told = frontend.named_dimensions(model) if isinstance(frontend, NamesDimensions) else {}
    for name, spec in compiled.inputs.items():
        for dim, size in zip(told.get(name) or (), spec.shape, strict=False):
            if isinstance(dim, str):
                found.setdefault(dim, str(size))
    return found


def _another(why: str, model: str) -> UsageError:
    return UsageError(
        f"the network was compiled from another model: {why}",
        where=model,
        remedy="give the one that it was compiled from, and its --frontend where that had options",
    )
