"""`tilewright run FILE.yaml|MODEL`: a whole pipeline."""

from __future__ import annotations

from typing import Any

import click

from tilewright_cli.terminal import shared_options as shared
from tilewright_cli.terminal.model_flags import flags_of
from tilewright_cli.terminal.pipeline_verb import pipeline_of, pipeline_options, run_pipeline
from tilewright_pipeline.options.tune_options import REPLACED, TuneOptions


@click.command()
@click.argument("source", metavar="FILE.yaml|MODEL")
@flags_of(TuneOptions, ("effort",))
@click.option("--more", metavar="BUDGET", help="Add to what tuning has left: 60s, or 200 trials.")
@click.option(
    "--verify/--no-verify",
    default=None,
    help="Whether the answers are compared with an oracle's.  [as the file says; those of a MODEL "
    "are, where an oracle is installed]",
)
@pipeline_options
def run(
    *,
    source: str,
    effort: int | None,
    settings: tuple[str, ...],
    more: str | None,
    verify: bool | None,
    **options: Any,
) -> int:
    """Run a pipeline from start to end: tune a network, compile it, check it.

    A MODEL is anything that the stage `import` takes. It is tuned and checked with default options.
    """
    asked = []
    if effort is not None:  # it counts in place of what a file says, and `--set` in place of it
        values = {"effort": effort, **dict.fromkeys(REPLACED)}
        flag = f"--effort {effort}"
        asked = [shared.setting(f"tune.{name}", value, flag) for name, value in values.items()]
    return run_pipeline(
        pipeline_of(source), settings=(*asked, *settings), more=more, verify=verify, **options
    )
