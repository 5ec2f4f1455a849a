"""What a tuning stage is asked for: declared here, for YAML, flags and Python alike."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from tilewright.errors import UsageError
from tilewright.options import DEFAULT, Choice, Options
from tilewright.vocabulary.budget import Budget
from tilewright_pipeline.options.budget_text import parse_budget
from tilewright_pipeline.options.mistakes import BadValueError


def _budget(value: Any) -> Budget:
    try:
        return parse_budget(value)
    except UsageError as error:
        raise BadValueError(error.message, error.remedy) from None


BudgetOption = Annotated[
    Budget,
    BeforeValidator(_budget),
    PlainSerializer(str),
    WithJsonSchema({"type": ["string", "integer"], "examples": ["60s", "2min", 200]}),
]


class TuneOptions(Options):
    """Options of the stage `tune`, of `tilewright tune` and of `tilewright.tune`."""

    tuner: Choice = Field(default=DEFAULT, description="NAME or {NAME: {option: value}}.")
    scheduler: Choice = Field(default=DEFAULT, description="Which task gets the next batch.")
    budget: BudgetOption = Field(
        default=Budget(seconds=60.0), description="60s, 2min, or 200 for trials; failures count."
    )
    early_stopping: int | None = Field(
        default=None, ge=1, description="End a task after so many trials without improvement."
    )
