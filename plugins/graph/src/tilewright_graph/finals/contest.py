"""Which programs make a network fastest: exchanged while it runs, decided by pairs of runs."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import NamedTuple

from tilewright_graph.finals.median_interval import MedianInterval

Run = Callable[[Sequence[int]], float]
"""Seconds of a run of the network with these programs at its places."""

_CONFIRMING = 0.25
"""Share of the time in which the whole is confirmed."""

_FIRST_LOOK = 32
"""Pairs of runs before the first early decisions; the next are after twice as many, and so on."""

_EARLY, _LAST, _WHOLE = 0.999, 0.95, 0.99
"""Confidence of an early decision, as there are many looks; of those in the end, whose mistakes the
confirmation catches; and of that."""


class Rival(NamedTuple):
    """A program other than the first of its place."""

    place: int
    program: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a rival did to the network, or all winners together.

    over        the program that stood at its place, 0 for all together
    difference  seconds with it less those without, None if it never ran
    pairs       of runs that tell
    """

    over: int
    difference: MedianInterval | None
    pairs: int

    @property
    def faster(self) -> bool:
        return self.difference is not None and self.difference.high < 0

    @property
    def slower(self) -> bool:
        return self.difference is not None and self.difference.low > 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What stands at each place in the end, and how that came about.

    winners  what stood at each place in the new network
    total    of that, against the old one
    runs     of the network altogether; `run_seconds` is their median
    """

    standing: tuple[int, ...]
    winners: tuple[int, ...]
    verdicts: dict[Rival, Verdict]
    total: Verdict
    runs: int
    run_seconds: float


def contest(
    counts: Sequence[int],
    run: Run,
    seconds: float,
    seed: int,
    clock: Callable[[], float] = time.perf_counter,
) -> Outcome:
    """Exchange programs for so long, confirm the whole, and keep what was where that is no gain.

    `counts` are the programs of each place; 0 stands at first. The network runs in pairs. At every
    place one run of a pair has the program that stands and the other a rival, drawn anew: which
    rival, and which of the two runs has it. So every pair tells of all places at once, and what the
    other places do is as often for a rival as against it. A rival takes its place once the interval
    of its differences is below zero, and leaves once that is above zero. In the end the network
    with all winners runs against the old one in pairs, and stays only if the interval of these
    fresh differences is below zero: a tie keeps what was.
    """
    return _Contest(counts, run, seed, clock).outcome(seconds)


class _Contest:
    def __init__(
        self, counts: Sequence[int], run: Run, seed: int, clock: Callable[[], float]
    ) -> None:
        self._old = [0] * len(counts)
        self._standing = [*self._old]
        self._rivals = [[*range(1, count)] for count in counts]
        self._run = run
        self._random = Random(seed)
        self._clock = clock
        self._differences: dict[Rival, list[float]] = defaultdict(list)
        self._verdicts: dict[Rival, Verdict] = {}
        self._taken: list[float] = []

    def outcome(self, seconds: float) -> Outcome:
        self._exchange(self._clock() + seconds * (1 - _CONFIRMING))
        total = Verdict(0, None, 0)
        if self._standing != self._old:
            found = self._confirm(self._clock() + seconds * _CONFIRMING)
            total = Verdict(0, MedianInterval.of(found, _WHOLE), len(found))
        standing, taken = self._standing if total.faster else self._old, self._taken
        every = median(taken) if taken else 0.0
        won = tuple(self._standing)
        return Outcome(tuple(standing), won, self._verdicts, total, len(taken), every)

    def _exchange(self, end: float) -> None:
        pairs, look = 0, _FIRST_LOOK
        while any(self._rivals) and self._clock() < end:
            self._pair()
            pairs += 1
            if pairs == look:
                look *= 2
                self._decide(_EARLY)
        self._decide(_LAST)

    def _pair(self) -> None:
        first, second = [*self._standing], [*self._standing]
        drawn = []
        for place, rivals in enumerate(self._rivals):
            if rivals:
                program, sign = self._random.choice(rivals), self._random.choice((1, -1))
                (first if sign > 0 else second)[place] = program
                drawn.append((Rival(place, program), sign))
        difference = self._timed(first) - self._timed(second)
        for rival, sign in drawn:
            self._differences[rival].append(sign * difference)

    def _timed(self, programs: Sequence[int]) -> float:
        seconds = self._run(programs)
        self._taken.append(seconds)
        return seconds

    def _decide(self, confidence: float) -> None:
        """At every place the fastest takes it, and the slower ones leave."""
        for place, rivals in enumerate(self._rivals):
            told = {program: self._verdict(Rival(place, program), confidence) for program in rivals}
            self._verdicts |= {Rival(place, program): one for program, one in told.items()}
            faster = [
                (one.difference.median, program)
                for program, one in told.items()
                if one.difference is not None and one.faster
            ]
            gone = {program for program, one in told.items() if one.slower}
            if faster:
                _, best = min(faster)
                self._standing[place] = best
                gone.add(best)
                for program in rivals:  # their differences are to what stood before
                    self._differences.pop(Rival(place, program))
            self._rivals[place] = [program for program in rivals if program not in gone]

    def _verdict(self, rival: Rival, confidence: float) -> Verdict:
        over, found = self._standing[rival.place], self._differences[rival]
        told = MedianInterval.of(found, confidence) if found else None
        return Verdict(over, told, len(found))

    def _confirm(self, end: float) -> list[float]:
        """Seconds of the new network less those of the old, by pairs in drawn order."""
        found: list[float] = []
        while not found or self._clock() < end:
            sign = self._random.choice((1, -1))
            turns = (self._standing, self._old)[::sign]
            first, second = (self._timed(programs) for programs in turns)
            found.append(sign * (first - second))
        return found
