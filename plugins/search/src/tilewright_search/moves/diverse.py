"""Choosing a batch that is good and spread out at once."""

from __future__ import annotations

import numpy as np

from tilewright_search.models.features import Floats


def pick_diverse(features: Floats, scores: Floats, count: int, weight: float) -> list[int]:
    """Row numbers: each next one has the largest score plus `weight` times its distance.

    Scores lie in [0, 1]; the distance is the mean over the columns of the share of the column's
    range, to the nearest row picked. AutoTVM's diversity filter forgot the scores; this one trades
    them. Equal scores give a space-filling set.
    """
    span = np.ptp(features, axis=0)
    varying = features[:, span > 0] / span[span > 0]
    values = scores.astype(np.float64)
    nearest = np.ones(len(features))
    picked: list[int] = []
    for _ in range(min(count, len(features))):
        total = values + weight * nearest
        total[picked] = -np.inf
        best = int(np.argmax(total))
        picked.append(best)
        if varying.shape[1]:
            nearest = np.minimum(nearest, np.abs(varying - varying[best]).mean(axis=1))
    return picked
