"""What a tuning stage is asked for: declared here, for YAML, flags and Python alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

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


_LONG_SECONDS = 20.0

EFFORTS: Mapping[int, Mapping[str, Any]] = {
    0: {"budget": Budget(trials=0)},
    1: {"budget": "10s", "scheduler": "gradient"},
    2: {"budget": "1min", "scheduler": "gradient"},
    3: {"budget": "24h", "scheduler": "gradient", "early_stopping": 256},
}
"""What an effort stands for, of a network as of a single task."""

REPLACED = ("budget", "scheduler", "early_stopping")
"""What it is in place of."""


class TuneOptions(Options):
    """Options of the stage `tune`, of `tilewright tune` and of `tilewright.tune`."""

    effort: int | None = Field(
        default=None,
        ge=0,
        le=3,
        strict=True,
        description="In place of budget, scheduler and early_stopping, each of which can still be "
        "said. 0: nothing is measured, by graph-tune neither, every config is chosen by model or "
        "strategy; 1: 10 s; 2: a minute; 3: until nothing gains.",
    )

    tuner: Choice = Field(default=DEFAULT, description="NAME or {NAME: {option: value}}.")
    scheduler: Choice = Field(default=DEFAULT, description="Which task gets the next batch.")
    budget: BudgetOption = Field(
        default=Budget(seconds=60.0), description="60s, 2min, or 200 for trials; failures count."
    )
    early_stopping: int | None = Field(
        default=None, ge=1, description="End a task after so many trials without improvement."
    )

    @property
    def measures_nothing(self) -> bool:
        """Whether that was asked for by the effort, and no budget beside it says otherwise."""
        return self.effort == 0 and self.budget.trials == 0

    @model_validator(mode="before")
    @classmethod
    def _with_effort(cls, given: Any) -> Any:
        """What the effort stands for, where nothing else is said; null says nothing.

        Nor does the effort's own budget, which a run's page writes out.
        """
        effort = given.get("effort") if isinstance(given, Mapping) else None
        presets = EFFORTS.get(effort, {}) if type(effort) is int else {}
        if not presets:
            return given
        own = {name: str(one) for name, one in presets.items()}
        said = {
            name: one
            for name, one in given.items()
            if name not in REPLACED or (one is not None and str(one) != own.get(name))
        }
        return {**presets, **said}

    @property
    def takes_long(self) -> bool:
        """Whether what is measured once before the search, in a second, is nothing beside it."""
        return (self.budget.seconds or 0.0) >= _LONG_SECONDS
