"""Ranks configs that had lost to finalists before these were measured in turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Race(NamedTuple):
    """A config that was measured in turns: its time before, infinity where it had none, and now."""

    before: float
    now: float


def slower(races: Mapping[int, Race], number: int, seconds: float) -> float | None:
    """Seconds that rank a trial that had lost to finalists; None where it had not.

    Trials are numbered in order of measurement. It is slowed down by the least factor of a winner.
    """
    later = (race for other, race in races.items() if number < other and number not in races)
    won = (race for race in later if race.before <= seconds)
    return min((seconds * race.now / race.before for race in won), default=None)
