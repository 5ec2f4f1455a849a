"""How often a classifier's best classes are those of an oracle, over many inputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

FEWEST_CLASSES = 10
"""An output of shape [1, classes, 1, ...] with fewer is no classifier's."""
_BEST = 5


@dataclass(frozen=True, slots=True)
class Agreement:
    """Shares of the samples, from 0 to 1.

    top1           in which the best class is the same
    top1_decided   the same, of those in which the oracle's best two classes lie further apart than
                   the largest error; None where there is none
    top5           of the oracle's five best classes that are among our five best
    """

    samples: int
    top1: float
    top1_decided: float | None
    top5: float


def is_classification(answer: Any) -> bool:
    """Whether an answer has a value for each of many classes, of one input and one place."""
    shape = np.shape(answer)
    return len(shape) >= 2 and shape[1] >= FEWEST_CLASSES and prod(shape) == shape[1]


def agreement(pairs: Iterable[tuple[Any, Any]]) -> Agreement:
    """Of our answers and the oracle's, each a vector of classes."""
    same, decided, shared = [], [], []
    for ours, theirs in pairs:
        a, b = (np.asarray(one, np.float64).ravel() for one in (ours, theirs))
        best, second = np.sort(b)[:-3:-1]
        same.append(a.argmax() == b.argmax())
        if best - second > np.abs(a - b).max():
            decided.append(same[-1])
        ours_best, theirs_best = (set(np.argsort(one)[-_BEST:]) for one in (a, b))
        shared.append(len(ours_best & theirs_best) / _BEST)
    told = float(np.mean(decided)) if decided else None
    return Agreement(len(same), float(np.mean(same)), told, float(np.mean(shared)))
