"""`tilewright graph-tune`: the choice of layouts over the whole network."""

from __future__ import annotations

from tilewright_cli.terminal import shared_options as shared
from tilewright_cli.terminal.model_flags import flags_of
from tilewright_cli.terminal.pipeline_verb import stage_verb
from tilewright_graph.stages.graph_tune_options import GraphTuneOptions


@stage_verb("graph-tune", "graph-tune")
@flags_of(
    GraphTuneOptions,
    ("graph_tuner", "max_error", "proof", "finals", "svg"),
    types={"svg": shared.NAMED_FILE},
)
def graph_tune() -> None:
    """Choose a config for every kernel, over the whole network."""
