"""How much a stage may spend: seconds or trials, for the stage as a whole."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """Seconds (`60s`, `2min`) or trials (`200`, failures counted); exactly one of them is set."""

    seconds: float | None = None
    trials: int | None = None

    def __str__(self) -> str:
        return f"{self.seconds:.15g}s" if self.trials is None else f"{self.trials} trials"

    def less(self, seconds: float, trials: int) -> Budget:
        """What is left after some spending, at least zero."""
        if self.trials is not None:
            return Budget(trials=max(0, self.trials - trials))
        return Budget(seconds=max(0.0, (self.seconds or 0.0) - seconds))
