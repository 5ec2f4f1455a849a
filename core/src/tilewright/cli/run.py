"""`tilewright run FILE.yaml`: a whole pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tilewright.cli.pipeline_verb import pipeline_options, run_pipeline


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--more", metavar="BUDGET", help="Add to finished tuning: 60s, or 200 trials.")
@pipeline_options
def run(*, file: Path, more: str | None, **options: Any) -> int:
    """Run a pipeline file from start to end."""
    return run_pipeline(file, more=more, **options)
