"""Budgets as people write them: `60s`, `1h30m`, `200 trials`; and what `--more` adds to one."""

from __future__ import annotations

import math
import re
from typing import Any

from tilewright.errors import UsageError, shown
from tilewright.vocabulary.budget import Budget

_UNITS = {
    "h": (3600.0, ("h", "hr", "hrs", "hour", "hours")),
    "min": (60.0, ("m", "min", "mins", "minute", "minutes")),
    "s": (1.0, ("s", "sec", "secs", "second", "seconds")),
    "ms": (1e-3, ("ms",)),
}
"""Seconds and spellings of every unit, the largest first: the order that they are written in."""

_NUMBER = r"\d{1,15}(?:\.\d{1,15})?"
_SECONDS = re.compile(
    r"\s*".join(
        rf"(?:(?P<{unit}>{_NUMBER})\s*(?:{'|'.join(words)})(?![a-z]))?"
        for unit, (_, words) in _UNITS.items()
    ),
    re.IGNORECASE,
)
_TRIALS = re.compile(r"(\d{1,15})(?:\s*trials?)?", re.IGNORECASE)
_BARE = re.compile(_NUMBER)
_REMEDY = "write 60s, 2min or 1h30m, or 200 for trials"


def parse_budget(value: Any, where: str = "budget") -> Budget:
    """The budget of `60s`, `2min`, `1h30m`, `200` or `200 trials`; a budget stays as it is.

    Raises UsageError that names `where`.
    """
    if isinstance(value, Budget):
        return value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = str(value).strip() if number or isinstance(value, str) else ""
    parsed, remedy = None, _REMEDY
    if match := _TRIALS.fullmatch(text):
        parsed = Budget(trials=int(match[1]))
    elif text and (match := _SECONDS.fullmatch(text)):
        given = ((size, match[unit]) for unit, (size, _) in _UNITS.items())
        parsed = Budget(seconds=math.fsum(float(count) * size for size, count in given if count))
    elif _BARE.fullmatch(text):
        remedy = f"a number without a unit counts trials: write {text}s, or a whole number"
    if parsed is not None and (parsed.trials or parsed.seconds):
        return parsed
    expected = "more than nothing" if parsed is not None else "seconds or a number of trials"
    raise UsageError(f"expected {expected}, got {shown(value)}", where=where, remedy=remedy)


def together(budget: Budget, more: Budget) -> Budget:
    """Both together. Raises UsageError where `more` is in another unit."""
    if budget.trials is not None and more.trials is not None:
        return Budget(trials=budget.trials + more.trials)
    if budget.seconds is not None and more.seconds is not None:
        return Budget(seconds=budget.seconds + more.seconds)
    unit = "seconds" if budget.trials is None else "trials"
    raise UsageError(
        f"{more} cannot be added to a budget in {unit}",
        where="--more",
        remedy=f"give {unit}",
    )
