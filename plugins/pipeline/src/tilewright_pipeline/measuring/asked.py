"""Candidates of a batch as they are built and run, and what their runs say together."""

from __future__ import annotations

import random
import reprlib
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tilewright.roles import BuildResult
from tilewright.vocabulary.measure import (
    Failure,
    FailureKind,
    MeasureInput,
    MeasureResult,
    Trial,
    is_seconds,
)
from tilewright_pipeline.measuring.measurement_spent import MeasurementSpent

if TYPE_CHECKING:
    from tilewright.plugins.blamed import Blamed


@dataclass(frozen=True, slots=True)
class Asked:
    """A candidate as it was built, and its runs, one a turn."""

    input: MeasureInput
    build: BuildResult
    runs: Sequence[Future[MeasureResult]]

    def wait(self) -> None:
        """Wait until it is done, which what was cancelled is as well."""
        for run in self.runs:
            _result(run)

    def is_done(self) -> bool:
        return all(run.done() for run in self.runs)

    def came_back(self) -> bool:
        return self.is_done() and not any(run.cancelled() for run in self.runs)

    def trial(self) -> Trial:
        result = _joined([_result(run) for run in self.runs])
        return Trial(self.input, replace(result, timings={**result.timings, **self.build.timings}))


def built(builder: Blamed, name: str, inputs: Sequence[MeasureInput]) -> Sequence[BuildResult]:
    """What a builder answers. Raises RuntimeError, which names it, where that is no answer."""
    builds: Sequence[BuildResult] = builder.build(inputs)
    with builder.blaming():
        _expect_one_each("builder", name, builds, len(inputs))
    return builds


def begun(
    runner: Blamed, name: str, inputs: Sequence[MeasureInput], builds: Sequence[BuildResult]
) -> list[Asked]:
    """The candidates once their last turn has begun; raises RuntimeError as `built` does.

    Where the conditions ask for several turns, each is run once a turn, in another order every
    turn: a slow phase of the machine falls on them all. One that failed gets no further turn.
    """
    runs: list[list[Future[MeasureResult]]] = [[] for _ in inputs]
    for turn in range(max((each.conditions.turns for each in inputs), default=0)):
        due = _due(inputs, runs, turn)
        if not due:
            break
        futures = runner.run([inputs[place] for place in due], [builds[place] for place in due])
        with runner.blaming():
            _expect_one_each("runner", name, futures, len(due))
        for place, future in zip(due, futures, strict=True):
            runs[place].append(future)
    return list(map(Asked, inputs, builds, runs))


def _expect_one_each(role: str, name: str, answers: Any, count: int) -> None:
    if not isinstance(answers, Sequence) or len(answers) != count:
        got = f"{len(answers)}" if isinstance(answers, Sequence) else repr(answers)
        raise RuntimeError(
            f"the {role} '{name}' answered {got}; expected a result for each of {count} candidates"
        )


def _due(
    inputs: Sequence[MeasureInput], runs: Sequence[Sequence[Future[MeasureResult]]], turn: int
) -> list[int]:
    """The places of the inputs that get this turn, once those before are over; then shuffled."""
    due = [
        place
        for place, (each, own) in enumerate(zip(inputs, runs, strict=True))
        if each.conditions.turns > turn and all(_result(run).failure is None for run in own)
    ]
    if turn:
        random.Random(turn).shuffle(due)
    return due


def _joined(results: Sequence[MeasureResult]) -> MeasureResult:
    """What a candidate's runs say together: the first failure, or all samples of one device.

    Where that was lost between turns, it is the device of most turns, of equally many the last:
    it is the same for all that took these turns, so that they are compared on one device.
    """
    spent = MeasurementSpent()
    runs: dict[str, list[MeasureResult]] = {}
    for result in results:
        spent.add(result.timings)
        if result.failure is not None:
            return MeasureResult((), result.failure, spent.timings, result.device)
        runs.setdefault(result.device, []).append(result)
    device = max(reversed(runs), key=lambda name: len(runs[name]))
    costs = tuple(cost for each in runs[device] for cost in each.costs)
    return MeasureResult(costs, None, spent.timings, device)


def _result(future: Future[MeasureResult]) -> MeasureResult:
    """What a runner answers; an error, or a time that cannot be, costs one candidate."""
    try:
        result = future.result()
    except Exception as error:  # noqa: BLE001  whatever a runner raises
        text = f"{type(error).__name__}: {error}"
        return MeasureResult(failure=Failure(FailureKind.INTERNAL, text))
    if all(map(is_seconds, result.costs)):
        return result
    absurd = next(cost for cost in result.costs if not is_seconds(cost))
    text = f"{reprlib.repr(absurd)[:80]} is no time in seconds"
    failure = Failure(FailureKind.INVALID_RESULT, text)
    return replace(result, costs=(), failure=failure)
