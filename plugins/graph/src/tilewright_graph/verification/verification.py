"""Comparing a network's answers with an oracle's, so that it can fail."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import UsageError
from tilewright_tensor.expressions.dtype import DATA_TYPES

_WIDE = 0.05


@dataclass(frozen=True, slots=True)
class Comparison:
    """The largest errors over all tensors, and the tensor that has the largest relative one.

    Relative is max |a - b| over max |b| of a tensor; but over max |b - mean b| for a decisive one
    whose max - min is below 5 % of max |b|, such as a regressor's with a large bias: what varies is
    the answer. Errors are infinite where one of the answers is not finite.
    """

    max_abs_error: float
    max_rel_error: float
    worst: str


def compare(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], decisive: Collection[str] = ()
) -> Comparison:
    """Our tensors against the oracle's of the same names."""
    errors = {
        name: _errors(np.asarray(ours[name]), np.asarray(answer), name, name in decisive)
        for name, answer in theirs.items()
    }
    worst = max(errors, key=lambda name: errors[name][1])
    return Comparison(max(absolute for absolute, _ in errors.values()), errors[worst][1], worst)


def check_fit(
    oracle: str, answers: Mapping[str, Any], decisive: Iterable[str], rtol: float
) -> None:
    """Raise UsageError where a decisive answer does not tell right from wrong.

    That is: its elements are equal, or vary so little that rounding alone exceeds the relative
    error asked for, or one is not finite.
    """
    for name in decisive:
        answer = np.asarray(answers[name])
        if not answer.size:
            continue
        rounding = DATA_TYPES[answer.dtype.name].eps
        wide = answer.astype(np.float64)
        spread, largest, scale = np.ptp(wide), np.abs(wide).max(), _scale(answer, decisive=True)
        if not np.isfinite(wide).all() or not scale or rounding * largest > rtol * scale:
            remedy = "verify with weights that tell answers apart: import: {weights: {seed: 0}}"
            if rounding > rtol:
                remedy = f"ask for an rtol well above {rounding:.2g}: {answer.dtype} is no finer"
            raise UsageError(
                f"unfit: tensor {name!r} spans {spread:.3g} around values up to {largest:.3g}, "
                f"too little to tell an error of {rtol:.3g} from rounding",
                where=f"oracle {oracle!r}",
                remedy=remedy,
            )


def _scale(answer: Any, decisive: bool) -> float:
    """What errors of an answer are relative to."""
    wide = answer.astype(np.float64)
    largest = float(np.abs(wide).max(initial=0.0))
    if not decisive or wide.size <= 1 or np.ptp(wide) >= _WIDE * largest:
        return largest
    return float(np.abs(wide - wide.mean()).max())


def _errors(ours: Any, theirs: Any, name: str, decisive: bool) -> tuple[float, float]:
    if ours.shape != theirs.shape:
        raise UsageError(
            f"tensor {name!r}: ours has shape {ours.shape}, the oracle's {theirs.shape}"
        )
    error = float(np.abs(ours.astype(np.float64) - theirs).max(initial=0.0))
    if not np.isfinite(error):
        return np.inf, np.inf
    scale = _scale(theirs, decisive)
    return error, error / scale if scale else (0.0 if error == 0.0 else np.inf)
