"""How much a stage may spend: seconds or trials, for the stage as a whole."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tilewright.errors import UsageError

_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|h)\Z")
_TRIALS = re.compile(r"(\d+)(?:\s*trials)?\Z")


@dataclass(frozen=True, slots=True)
class Budget:
    """Seconds (`60s`, `2min`) or trials (`200`, failures counted); exactly one of them is set."""

    seconds: float | None = None
    trials: int | None = None

    def __str__(self) -> str:
        return f"{self.seconds:.15g}s" if self.trials is None else f"{self.trials} trials"

    @classmethod
    def parse(cls, value: Any, where: str = "budget") -> Budget:
        """The budget of `60s`, `2min`, `200` or `200 trials`; one that is a budget stays as it is.

        Raises UsageError that names `where`.
        """
        if isinstance(value, cls):
            return value
        text = str(value).strip() if isinstance(value, int | str) else ""
        if (match := _TRIALS.match(text)) and not isinstance(value, bool):
            return cls(trials=int(match[1]))
        if match := _SECONDS.match(text):
            return cls(seconds=float(match[1]) * _UNITS[match[2]])
        raise UsageError(
            f"expected seconds or a number of trials, got {value!r}",
            where=where,
            remedy="write 60s, 2min, or 200 for trials",
        )

    def plus(self, more: Budget) -> Budget:
        """Both together. Raises UsageError where `more` is in another unit."""
        if self.trials is not None and more.trials is not None:
            return Budget(trials=self.trials + more.trials)
        if self.seconds is not None and more.seconds is not None:
            return Budget(seconds=self.seconds + more.seconds)
        unit = "seconds" if self.trials is None else "trials"
        raise UsageError(
            f"{more} cannot be added to a budget in {unit}",
            where="--more",
            remedy=f"give {unit}",
        )

    def less(self, seconds: float, trials: int) -> Budget:
        """What is left after some spending, at least nothing."""
        if self.trials is not None:
            return Budget(trials=max(0, self.trials - trials))
        return Budget(seconds=max(0.0, (self.seconds or 0.0) - seconds))
