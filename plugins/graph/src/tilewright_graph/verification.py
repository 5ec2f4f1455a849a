"""Comparing a network's answers with an oracle's, so that it can fail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import UsageError

_LEAST_SPREAD = 0.05


@dataclass(frozen=True, slots=True)
class Comparison:
    """The largest errors over all tensors, and the tensor that has the largest relative one.

    Relative is max |a - b| over max |b| of a tensor. Errors are infinite where one of the answers
    is not finite.
    """

    max_abs_error: float
    max_rel_error: float
    worst: str


def compare(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Comparison:
    """Our tensors against the oracle's of the same names."""
    errors = {
        name: _errors(np.asarray(ours[name]), np.asarray(answer), name)
        for name, answer in theirs.items()
    }
    worst = max(errors, key=lambda name: errors[name][1])
    return Comparison(max(absolute for absolute, _ in errors.values()), errors[worst][1], worst)


def check_fit(oracle: str, answers: Mapping[str, Any], decisive: Iterable[str]) -> None:
    """Raise UsageError where a decisive answer hardly varies, so that a wrong one might pass.

    That is: max - min is below 5 % of max |.|, or something is not finite.
    """
    for name in decisive:
        answer = np.asarray(answers[name], np.float64)
        spread, largest = float(np.ptp(answer)), float(np.abs(answer).max())
        if not np.isfinite(answer).all() or spread < _LEAST_SPREAD * largest or largest == 0.0:
            raise UsageError(
                f"unfit: tensor {name!r} spans {spread:.3g} around values up to {largest:.3g}, "
                f"expected at least {_LEAST_SPREAD:.0%} of them",
                where=f"oracle {oracle!r}",
                remedy="verify with weights that tell answers apart: import: {weights: {seed: 0}}",
            )


def _errors(ours: Any, theirs: Any, name: str) -> tuple[float, float]:
    if ours.shape != theirs.shape:
        raise UsageError(
            f"tensor {name!r}: ours has shape {ours.shape}, the oracle's {theirs.shape}"
        )
    error = float(np.abs(ours.astype(np.float64) - theirs).max(initial=0.0))
    if not np.isfinite(error):
        return np.inf, np.inf
    largest = float(np.abs(theirs).max(initial=0.0))
    return error, error / largest if largest else (0.0 if error == 0.0 else np.inf)
