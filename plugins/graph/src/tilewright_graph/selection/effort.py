"""What a choice over a network may use."""

from __future__ import annotations

from pydantic import Field

from tilewright.options import Options
from tilewright_graph.selection.candidates import MAX_SCH_NUM, Accuracy


class Effort(Options):
    """What may be used, as the options of the stage `graph-tune` say.

    transform_budget  of the layout transforms that the candidates may need, so many have a record
                      when the choice is made; a fitted model prices the rest, and what is chosen is
                      measured in any case; one is measured in about 50 ms
    """

    accuracy: Accuracy = Field(default="default", description="As in `compile`.")
    max_sch_num: int = Field(
        default=MAX_SCH_NUM,
        ge=1,
        description="Candidates of a kernel at most: the fastest for each signature of layouts.",
    )
    max_error: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="Largest of the network's answers, as in `verify`; needs graph_tuner exact.",
    )
    transform_budget: int = Field(
        default=200, ge=0, description="Layout transforms that are measured, at most."
    )
