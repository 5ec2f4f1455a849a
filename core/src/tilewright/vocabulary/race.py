"""How configs are ranked of which some, the finalists, were measured again in turns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import inf
from typing import Generic, NamedTuple, TypeVar

C = TypeVar("C", bound=Hashable)


class Race(NamedTuple):
    """A config that was measured in turns: its time before, infinity where it had none, and now."""

    before: float
    now: float


class Place(NamedTuple):
    """Where a trial stands among others; places compare, and the first is the smallest.

    seconds    that its config is taken to need
    lost       whether it had lost to finalists before these were measured in turns
    measured   the seconds of the trial itself
    number     in order of measurement
    """

    seconds: float
    lost: bool
    measured: float
    number: int

    @classmethod
    def of(cls, seconds: float, number: int, races: Mapping[int, Race]) -> Place:
        """A trial that had lost slows down as the winner did that did least."""
        later = (race for other, race in races.items() if number < other and number not in races)
        now = [seconds * race.now / race.before for race in later if race.before <= seconds]
        return cls(max(seconds, min(now, default=0.0)), bool(now), seconds, number)


def ranked(last: Iterable[tuple[float, int]], races: Mapping[int, Race]) -> Iterator[Place]:
    """The places of trials, (seconds, number), from the first on; failures have none.

    Races are looked at for those only that are asked for, and as many as lost to them.
    """
    waiting = [Place(seconds, False, seconds, number) for seconds, number in last if seconds < inf]
    heapify(waiting)
    while waiting:
        place = heappop(waiting)
        known = place if place.lost else Place.of(place.measured, place.number, races)
        if known == place:
            yield place
        else:
            heappush(waiting, known)


@dataclass(slots=True, eq=False)
class Standings(Generic[C]):
    """What the configs of a task took when they were last measured, and in turns.

    last    by config: seconds, infinity for a failure, and the number of the trial
    raced   by number, the trials in turns that have a time: the config, and its time before
    """

    last: dict[C, tuple[float, int]] = field(default_factory=dict)
    raced: dict[int, tuple[C, float]] = field(default_factory=dict)

    def add(self, config: C, seconds: float | None, number: int, *, in_turns: bool) -> None:
        """Take in the next trial; spoiled ones are none."""
        if in_turns and seconds is not None:
            before, known = self.last.get(config, (inf, -1))
            self.raced[number] = config, inf if known in self.raced else before
        self.last[config] = inf if seconds is None else seconds, number

    def races(self) -> dict[int, Race]:
        """By number, the races of configs that have a time now."""
        found = {number: Race(s, self.last[own][0]) for number, (own, s) in self.raced.items()}
        return {number: race for number, race in found.items() if race.now < inf}

    def ranked(self) -> Iterator[Place]:
        """The place of every config that has a time, the first first."""
        return ranked(self.last.values(), self.races())
