"""How good a tuner was on a space, over seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean, median
from typing import Any

from tilewright_pipeline.measuring.significance import mann_whitney
from tilewright_search.cli.searches.curve import Curve

PERCENTS = (10, 5, 2, 1)
JUDGED = 2
"""Percent of the best within which tuners are compared."""
EARLY = 64


@dataclass(frozen=True, slots=True)
class Outcome:
    """The curves of a tuner on a space, one a seed."""

    tuner: str
    space: str
    curves: tuple[Curve, ...]

    def trials_to(self, percent: float) -> float:
        """The median over seeds of trials until within so many percent, infinite beyond."""
        return median(curve.trials_to(percent) for curve in self.curves)

    def of(self, baseline: Outcome) -> float | None:
        """Its trials to 2 % as a share of the baseline's; None where either is unknown.

        Where only the baseline's is beyond the limit, the share is told of as many trials as the
        baseline made: at most that.
        """
        own, other = self.trials_to(JUDGED), baseline.trials_to(JUDGED)
        if not isfinite(own):
            return None
        return own / (other if isfinite(other) else baseline.most_trials)

    def p_value(self, baseline: Outcome) -> float | None:
        """The chance of such a difference of trials to 2 % by luck; None of the baseline itself."""
        if self is baseline:
            return None
        return mann_whitney(
            [curve.trials_to(JUDGED) for curve in self.curves],
            [curve.trials_to(JUDGED) for curve in baseline.curves],
        )

    @property
    def most_trials(self) -> int:
        """Trials of the seed that made most of them."""
        return max(len(curve.ratios) for curve in self.curves)

    def row(self, baseline: Outcome) -> dict[str, Any]:
        """Its figures by name; null for what took more trials than the limit, or is not known."""
        found: dict[str, Any] = {"tuner": self.tuner, "space": self.space}
        for percent in PERCENTS:
            found |= _spread(f"trials_to_{percent}_percent", self._each(percent, Curve.trials_to))
        for percent in PERCENTS:
            found |= _spread(f"seconds_to_{percent}_percent", self._each(percent, Curve.seconds_to))
        trials = sum(len(curve.ratios) for curve in self.curves)
        thinking = sum(curve.thinking for curve in self.curves)
        return {
            **found,
            "of_baseline": self.of(baseline),
            "p_value": self.p_value(baseline),
            "area": fmean(curve.area for curve in self.curves),
            f"best_after_{EARLY}": _finite(median(curve.after(EARLY) for curve in self.curves)),
            "thinking_seconds_per_trial": thinking / max(1, trials),
        }

    def _each(
        self, percent: float, tell: Callable[[Curve, float], float | None]
    ) -> list[float | None]:
        return [tell(curve, percent) for curve in self.curves]


def _spread(name: str, values: Sequence[float | None]) -> dict[str, Any]:
    """The median and the quartiles, each None where it is infinite or nothing is known."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return {name: None, f"{name}_quartiles": None}
    places = (round((len(known) - 1) * share) for share in (0.25, 0.75))
    return {
        name: _finite(median(known)),
        f"{name}_quartiles": [_finite(known[place]) for place in places],
    }


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
