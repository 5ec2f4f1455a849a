"""What the last word inside the network is asked for: declared here, for YAML and flags alike."""

from __future__ import annotations

from pydantic import Field

from tilewright.options import Options
from tilewright_graph.selection.candidates import Accuracy


class FinalsOptions(Options):
    """Options of the stage `finals`; `accuracy` as in `compile`.

    seconds     that the network runs in turns, confirmation included; linking it comes on top
    kernels     the nodes whose kernels take longest, at most
    candidates  rivals of each, at most: the best recorded configs of equal layouts and precision
    """

    seconds: float = Field(default=30.0, ge=0, allow_inf_nan=False)
    kernels: int = Field(default=32, ge=1)
    candidates: int = Field(default=2, ge=1)
    accuracy: Accuracy = "default"
