"""What a search found, trial by trial."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, TypeAlias

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import Trial

if TYPE_CHECKING:
    from tilewright_records.spaces.recorded_space import RecordedSpace

Search: TypeAlias = Callable[["RecordedSpace", int], Generator[ConfigEntity, Trial, None]]
"""From a space and a seed to configs, one after the other, none twice, each of which is answered by
its trial; it ends when it has nothing more to ask."""

NEAREST = 1
"""A search is over once it is within so many percent of the best."""
AREA_TRIALS = 200


@dataclass(frozen=True, slots=True)
class Curve:
    """The best so far after each trial, as a multiple of the best of the space.

    ratios    infinite while nothing worked
    seconds   since the start: the trials' own, and the search's; empty where those are not known
    thinking  seconds that the search took for all of it
    """

    ratios: tuple[float, ...]
    seconds: tuple[float, ...]
    thinking: float

    def trials_to(self, percent: float) -> float:
        """Trials until the best is at most so much slower than the best there is, or infinity."""
        near = (n for n, ratio in enumerate(self.ratios, 1) if ratio <= 1 + percent / 100)
        return next(near, inf)

    def seconds_to(self, percent: float) -> float | None:
        """The same in seconds, None where they are not known."""
        if not self.seconds:
            return None
        trials = self.trials_to(percent)
        return inf if trials == inf else self.seconds[int(trials) - 1]

    def after(self, trials: int) -> float:
        """The ratio after so many trials, or after all of them where it ended before."""
        return self.ratios[min(trials, len(self.ratios)) - 1] if self.ratios else inf

    @property
    def area(self) -> float:
        """The mean share of the best performance over the first 200 trials, from 0 to 1."""
        return sum(1 / self.after(trial) for trial in range(1, AREA_TRIALS + 1)) / AREA_TRIALS


def play(search: Search, space: RecordedSpace, seed: int, limit: int) -> Curve:
    """The curve of a search until it is near the best, asked so often, or has no more to ask."""
    asking = search(space, seed)
    ratios: list[float] = []
    seconds: list[float] = []
    best, thinking, measured = inf, 0.0, 0.0
    trial: Trial | None = None
    while len(ratios) < limit and best > 1 + NEAREST / 100:
        start = time.perf_counter()
        try:
            config = next(asking) if trial is None else asking.send(trial)
        except StopIteration:
            break
        finally:
            thinking += time.perf_counter() - start
        trial = space.measure(config)
        best = min(best, (trial.result.seconds or inf) / space.best_seconds)
        measured += sum(trial.result.timings.values())
        ratios.append(best)
        seconds.append(measured + thinking)
    return Curve(tuple(ratios), tuple(seconds) if space.tells_trial_seconds else (), thinking)
