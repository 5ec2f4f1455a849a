"""`tilewright compile`, `graph-tune`, `bench network`: one stage, with what leads to it.

Nothing is tuned: what the records know is used, and fallback configs for the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.cli.pipeline_verb import PIPELINE_OPTIONS, pipeline_options, run_pipeline

if TYPE_CHECKING:
    from tilewright.pipeline.yaml_source import YamlSource


def _verb(name: str, stage: str, text: str, *more: Callable[[Any], Any]) -> click.Command:
    """The verb of a stage; values given to `more` options go to the stage's of the same name."""

    @click.argument("source", metavar="FILE.yaml|MODEL")
    @pipeline_options
    def run_stage(*, source: str, settings: tuple[str, ...], **options: Any) -> int:
        own = {key: options.pop(key) for key in tuple(options) if key not in PIPELINE_OPTIONS}
        given = [f"{stage}.{key}={json.dumps(value)}" for key, value in own.items() if value]
        every = (*settings, *given)
        return run_pipeline(pipeline_of(source, name), only=stage, settings=every, **options)

    for option in more:
        run_stage = option(run_stage)
    return click.command(name, help=text)(run_stage)


def pipeline_of(source: str, name: str) -> Path | YamlSource:
    """A pipeline file as it is; for a model, the stages without options."""
    from tilewright.pipeline.yaml_source import YamlSource

    if source.endswith((".yaml", ".yml")):
        return Path(source)
    stages: list[dict[str, Any]] = [{"import": {"model": source}}, {"extract": {}}]
    stages += [{"graph-tune": {}}, {"compile": {}}, {"benchmark": {}}]
    return YamlSource.parse(json.dumps({"version": 1, "name": name, "stages": stages}), source)


compile_network = _verb(
    "compile", "compile", "Compile a network with the best that the records know."
)
graph_tune = _verb(
    "graph-tune",
    "graph-tune",
    "Choose a config for every kernel, over the whole network.",
    click.option("--proof", is_flag=True, help="Exit with 3 unless the choice is proved best."),
    click.option(
        "--svg",
        type=click.Path(resolve_path=True),
        metavar="FILE",
        help="Draw the layouts before and after.",
    ),
)
bench_network = _verb("bench-network", "benchmark", "Compile a network and time it.")
