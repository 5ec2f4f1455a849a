"""Whether something else worked on the same cores while times were taken."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles

# On a machine to itself, 4 to 6 % of the trials of two recorded spaces differ so much; beside other
# work, 70 % of a network's.
_SPREAD = 0.05
_SHARE = 0.2
_FEWEST_SAMPLES, _FEWEST_TRIALS = 2, 8


def is_disturbed(costs: Sequence[float]) -> bool:
    """Whether the middle half of the samples spreads over more than 5 % of their median.

    Two samples, as long kernels have, are then more than 10 % apart; one tells nothing.
    """
    if len(costs) < _FEWEST_SAMPLES:
        return False
    low, _, high = quantiles(costs, n=4, method="inclusive")
    return high - low > _SPREAD * median(costs)


def is_noisy(disturbed: int, timed: int) -> bool:
    """Whether so many of the trials that have a time were disturbed that the best may be another.

    A neighbour that works during a fifth of the trials may have hidden the best of them.
    """
    return timed >= _FEWEST_TRIALS and disturbed >= _SHARE * timed


def noise_told(disturbed: int, trials: int) -> str:
    """The message about a noisy run."""
    return (
        f"the samples of {disturbed} of {trials} trials differ by more than 5 %, as where "
        "something else works on this machine: the best config may be another; "
        "tune where nothing else runs"
    )
