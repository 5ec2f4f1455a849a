"""What the stage `graph-tune` is asked for: declared here, for YAML and flags alike."""

from __future__ import annotations

from pydantic import Field

from tilewright.options import DEFAULT, Choice
from tilewright_graph.selection.effort import Effort


class GraphTuneOptions(Effort):
    """Options of the stage `graph-tune`, and of `tilewright graph-tune`."""

    graph_tuner: Choice = Field(default=DEFAULT, description="Who chooses.")
    oracle: Choice | None = Field(
        default=None, description="Who knows the answers, where errors are bounded; as in `verify`."
    )
    proof: bool = Field(default=False, description="Exit with 3 unless the choice is proved best.")
    finals: float = Field(
        default=0.0,
        ge=0,
        allow_inf_nan=False,
        description="Seconds of the stage `finals` afterwards.",
    )
    svg: str | None = Field(
        default=None,
        description="Where the layouts before and after are drawn, several networks each into "
        "FILE-NETWORK; by default into the run's folder.",
    )
