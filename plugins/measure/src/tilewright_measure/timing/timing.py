"""Samples of a kernel's time."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilewright.vocabulary.measure import Conditions, FailureKind, is_seconds
from tilewright_measure.worker.failures import RefusedError

_FEWEST_SAMPLES = 3
_AVERAGING_SECONDS = 0.01  # of a sample: what disturbs it for a millisecond changes it little
_AT_ONCE = 4 / 3  # twice as slow as the best with racing 1.5: no noise makes a call and a sample so
_MOST_CALLS = 1 << 20
_DIGITS = 12  # what a quotient has beyond is noise, and most of a record's bytes


@dataclass(frozen=True, slots=True)
class Samples:
    """Seconds a call, one a sample; `lost` where the candidate was too slow to take them all."""

    seconds: list[float]
    lost: bool


def take_samples(
    timed: Callable[[int], float],
    conditions: Conditions,
    first_seconds: float,
    hopeless_seconds: float = math.inf,
    untimed_seconds: float = math.inf,
) -> Samples:
    """`timed(number)` gives the seconds of so many calls together.

    first_seconds     what one call took that came before; where that is shorter than a sample, one
                      sample is thrown away to warm up
    hopeless_seconds  the candidate has lost when three samples, or two that are enough, were all
                      slower; or when the first one and the call before it were both slower by a
                      third
    untimed_seconds   the candidate has lost, with that call as its only sample, when it took longer

    `number` grows until a sample lasts `min_repeat_ms`, and stays grown. Two samples are enough
    where they last as long as `repeat` samples of 10 ms, or of ten times `min_repeat_ms`; otherwise
    three, and so on. Raises RefusedError (`invalid_result`) for a time that cannot be.
    """
    if first_seconds > untimed_seconds:
        return Samples([round(checked_seconds(first_seconds), _DIGITS)], lost=True)
    shortest = conditions.min_repeat_ms / 1e3
    plenty = conditions.repeat * max(_AVERAGING_SECONDS, 10 * shortest)
    number = conditions.number
    if first_seconds < shortest:
        once = checked_seconds(timed(number)) / number
        number = max(number, min(_MOST_CALLS, math.ceil(shortest / once)))
    samples: list[float] = []
    while len(samples) < conditions.repeat:
        seconds = checked_seconds(timed(number))
        if seconds < shortest and number < _MOST_CALLS:
            number = min(
                _MOST_CALLS, max(math.ceil(1.05 * number * shortest / seconds), number + 1)
            )
            continue
        samples.append(round(checked_seconds(seconds / number), _DIGITS))
        ample = len(samples) > 1 and number * sum(samples) >= plenty
        telling = ample or len(samples) >= _FEWEST_SAMPLES
        fastest = min(samples) if telling else min(first_seconds, *samples) / _AT_ONCE
        if fastest > hopeless_seconds:
            return Samples(samples, lost=True)
        if ample:
            break
    return Samples(samples, lost=False)


def checked_seconds(value: Any) -> float:
    """A time in seconds that can be, neither absurdly short nor long. Raises RefusedError."""
    if not is_seconds(value):
        text = f"{reprlib.repr(value)[:80]} is no time in seconds"
        raise RefusedError(FailureKind.INVALID_RESULT, text)
    return float(value)
