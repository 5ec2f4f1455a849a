"""`tilewright run FILE.yaml|MODEL`: a whole pipeline."""

from __future__ import annotations

from typing import Any

import click

from tilewright.cli.pipeline_verb import pipeline_of, pipeline_options, run_pipeline


@click.command()
@click.argument("source", metavar="FILE.yaml|MODEL")
@click.option("--more", metavar="BUDGET", help="Add to what tuning has left: 60s, or 200 trials.")
@pipeline_options
def run(*, source: str, more: str | None, **options: Any) -> int:
    """Run a pipeline from start to end: tune a network, compile it, check it.

    A MODEL is anything that the stage `import` takes. It is tuned with default options, and its
    answers are not checked.
    """
    return run_pipeline(pipeline_of(source), more=more, **options)
