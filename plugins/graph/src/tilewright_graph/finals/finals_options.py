"""What the last word inside the network is asked for: declared here, for YAML and flags alike."""

from __future__ import annotations

from pydantic import Field

from tilewright.options import Options
from tilewright_graph.selection.candidates import Accuracy


class FinalsOptions(Options):
    """Options of the stage `finals`."""

    seconds: float = Field(
        default=30.0,
        ge=0,
        allow_inf_nan=False,
        description="How long the network runs, confirmation included; linking comes on top.",
    )
    kernels: int = Field(
        default=32, ge=1, description="The nodes whose kernels take longest, at most."
    )
    candidates: int = Field(
        default=2,
        ge=1,
        description="Rivals of each, at most: the best recorded configs of equal layouts and "
        "precision.",
    )
    accuracy: Accuracy = Field(default="default", description="As in `compile`.")
