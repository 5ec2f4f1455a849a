"""`tilewright compile`, `graph-tune`, `bench network`: one stage, with what leads to it.

Nothing is tuned: what the records know is used, and fallback configs for the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tilewright_cli.terminal import shared_options as shared
from tilewright_cli.terminal.pipeline_verb import pipeline_of, pipeline_options, run_pipeline


def _verb(name: str, stage: str) -> Callable[[Any], click.Command]:
    """Make a function the verb of a stage: it gives the stage's options for what the verb takes."""

    def decorate(own_options: Any) -> click.Command:
        own = getattr(own_options, "__click_params__", [])

        @click.argument("source", metavar="FILE.yaml|MODEL")
        @pipeline_options
        def run_stage(*, source: str, settings: tuple[str, ...], **options: Any) -> int:
            given = own_options(**{option.name: options.pop(option.name) for option in own}).items()
            every = (*settings, *(f"{stage}.{key}={json.dumps(value)}" for key, value in given))
            return run_pipeline(pipeline_of(source), only=stage, settings=every, **options)

        run_stage.__click_params__ += own
        return click.command(name, help=own_options.__doc__)(run_stage)

    return decorate


@_verb("compile", "compile")
def compile_network() -> dict[str, Any]:
    """Compile a network with the best configs in the records."""
    return {}


@_verb("graph-tune", "graph-tune")
@click.option("--proof", is_flag=True, help="Exit with 3 unless the choice is proved best.")
@click.option(
    "--svg",
    type=shared.NAMED_PATH,
    metavar="FILE",
    help="Draw the layouts before and after; several networks each into FILE-NETWORK.",
)
def graph_tune(proof: bool, svg: Path | None) -> dict[str, Any]:
    """Choose a config for every kernel, over the whole network."""
    given = {"proof": proof} if proof else {}
    return given if svg is None else {**given, "svg": str(svg)}


@_verb("bench-network", "benchmark")
def bench_network() -> dict[str, Any]:
    """Compile a network and time it."""
    return {}
