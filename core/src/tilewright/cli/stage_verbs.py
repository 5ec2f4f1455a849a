"""`tilewright compile`, `graph-tune`, `bench network`: one stage, with what leads to it.

Nothing is tuned: what the records know is used, and fallback configs for the rest.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.cli.pipeline_verb import pipeline_options, run_pipeline

if TYPE_CHECKING:
    from tilewright.pipeline.yaml_source import YamlSource


def _verb(name: str, stage: str, text: str) -> click.Command:
    @click.argument("source", metavar="FILE.yaml|MODEL")
    @pipeline_options
    def run_stage(*, source: str, **options: Any) -> int:
        return run_pipeline(_pipeline_of(source, name), only=stage, **options)

    return click.command(name, help=text)(run_stage)


def _pipeline_of(source: str, name: str) -> Path | YamlSource:
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
    "graph-tune", "graph-tune", "Choose a config for every kernel, over the whole network."
)
bench_network = _verb("bench-network", "benchmark", "Compile a network and time it.")
