"""What the logs of TVM's tuners have in common: targets, error numbers, times."""

from __future__ import annotations

import re
from typing import Any

from tilewright.json_object import BadLineError
from tilewright.vocabulary.measure import Failure, FailureKind, MeasureResult
from tilewright.vocabulary.target import Target

_MAX_SECONDS = 1e8
_ATTRIBUTE = re.compile(r"-([a-z_]+)=(\S+)")
RELEVANT = "model", "mcpu", "device"
"""What of a target names the processor."""
_FAILURES = {
    1: FailureKind.INVALID_CONFIG,
    2: FailureKind.BUILD_ERROR,
    3: FailureKind.BUILD_ERROR,
    4: FailureKind.RUN_ERROR,
    5: FailureKind.WRONG_ANSWER,
    6: FailureKind.BUILD_TIMEOUT,
    7: FailureKind.RUN_TIMEOUT,
}
"""MeasureErrorNo; what is not in it is `internal`."""


def target_of(text: str) -> Target:
    """Kind and what names the processor; flags of code generation would only hide equal ones."""
    kind = text.split(maxsplit=1)[0]
    found = dict(_ATTRIBUTE.findall(text))
    return Target(kind, {name: found[name] for name in RELEVANT if name in found})


def device_of(target: Target) -> str:
    """The model that a target names, else its kind."""
    return next((target.get(a) for a in RELEVANT if target.get(a)), target.kind)


def result_of(result: Any, system: str) -> MeasureResult:
    """Of `[costs, error number, seconds of the trial, ...]`."""
    costs, error, total, *_ = result
    if error:
        kind = _FAILURES.get(error, FailureKind.INTERNAL)
        return MeasureResult(failure=Failure(kind, f"{system}'s error {error}"))
    timings = {"total": float(total)} if total > 0 else {}
    return MeasureResult(seconds_of(costs), timings=timings)


def seconds_of(costs: Any) -> tuple[float, ...]:
    """Measured seconds. Raises BadLineError where they are none."""
    if not costs or not all(0 < cost < _MAX_SECONDS for cost in costs):
        raise BadLineError(f"costs of {costs}"[:80])
    return tuple(float(cost) for cost in costs)
