"""Builds, runs and stores candidates: the part of tuning that touches the device."""

from __future__ import annotations

import random
import reprlib
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tilewright.measure import (
    Failure,
    FailureKind,
    MeasureInput,
    MeasureResult,
    Trial,
    is_seconds,
)
from tilewright.records import Record
from tilewright.roles import BuildResult, MeasureContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.roles import Builder, RunContext, Runner


@dataclass(slots=True)
class Spent:
    """What was measured so far.

    timings   seconds of lower, compile, load, check, time, summed over the trials; and of `search`,
              what tuners took to learn and to propose, `build`, until batches were built, and
              `store`, to write the records
    counts    what the trials' artefacts count of themselves, summed
    """

    trials: int = 0
    failures: int = 0
    timings: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, amounts: Mapping[str, int]) -> None:
        """Add what an artefact counts of itself."""
        for name, amount in amounts.items():
            self.counts[name] = self.counts.get(name, 0) + amount

    def add(self, timings: Mapping[str, float]) -> None:
        """Add seconds to the parts named."""
        for part, seconds in timings.items():
            self.timings[part] = self.timings.get(part, 0.0) + seconds

    @contextmanager
    def on(self, part: str) -> Iterator[None]:
        """Count the time of a block as this part."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add({part: time.perf_counter() - start})

    def report(self, seconds: float) -> dict[str, Any]:
        """The `measurement` member of run.json."""
        return {
            "trials": self.trials,
            "failures": self.failures,
            "seconds": seconds,
            "trials_per_second": self.trials / seconds if self.trials and seconds > 0 else 0.0,
            "split": dict(self.timings),
            "counts": dict(self.counts),
        }


class Measurement:
    """A builder and a runner, started with the first batch.

    >>> with Measurement(context) as measurement:
    ...     trials = measurement.measure(inputs)  # in order, each in the store when it returns
    ...     measurement.spent.trials

    `shield()` gives a section that Ctrl-C does not cut, so that a record is written whole.
    """

    def __init__(
        self,
        context: RunContext,
        shield: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.spent = Spent()
        self._context = context
        self._shield = shield
        self._builder: Builder | None = None
        self._runner: Runner | None = None

    def __enter__(self) -> Measurement:
        return self

    def __exit__(self, *_: object) -> None:
        for closed in (self._runner, self._builder):
            if closed is not None:
                closed.close()

    def measure(self, inputs: Sequence[MeasureInput]) -> list[Trial]:
        """One trial an input, in order; what the machinery spoiled is measured once more.

        Where the conditions ask for several turns, each is built once and run once a turn, in
        another order every turn: a slow phase of the machine falls on them all. One that failed
        gets no further turn.
        """
        trials = self._once(inputs)
        spoiled = [
            position
            for position, trial in enumerate(trials)
            if trial.result.failure is not None and trial.result.failure.kind.retried
        ]
        if spoiled:
            again = self._once([inputs[position] for position in spoiled])
            for position, trial in zip(spoiled, again, strict=True):
                trials[position] = trial
        return trials

    def _once(self, inputs: Sequence[MeasureInput]) -> list[Trial]:
        builder, runner = self._started()
        with self.spent.on("build"):
            builds = builder.build(inputs)
        runs: list[list[Future[MeasureResult]]] = [[] for _ in inputs]
        for turn in range(max((each.conditions.turns for each in inputs), default=0)):
            due = _due(inputs, runs, turn)
            if not due:
                break
            futures = runner.run([inputs[place] for place in due], [builds[place] for place in due])
            for place, future in zip(due, futures, strict=True):
                runs[place].append(future)
        trials: list[Trial] = []
        try:
            for asked, build, own in zip(inputs, builds, runs, strict=True):
                result = _joined([_result(future) for future in own])
                with self._shield():
                    trials.append(self._keep(asked, build, result))
        except KeyboardInterrupt:
            # What came back is paid for: keep it.
            rest = list(zip(inputs, builds, runs, strict=True))[len(trials) :]
            for asked, build, own in rest:
                if all(future.done() and not future.cancelled() for future in own):
                    self._keep(asked, build, _joined([_result(future) for future in own]))
            raise
        return trials

    def _started(self) -> tuple[Builder, Runner]:
        if self._builder is None or self._runner is None:
            context, host = self._context, self._context.host
            made = MeasureContext(host, context.device, context.seed)
            self._builder = host.make("builder", *context.builder, made)
            self._runner = host.make("runner", *context.runner, made)
        return self._builder, self._runner

    def _keep(self, asked: MeasureInput, build: BuildResult, result: MeasureResult) -> Trial:
        result = replace(result, timings={**result.timings, **build.timings})
        trial = Trial(asked, result)
        revision = self._context.host.strategy(asked.config.strategy).revision
        with self.spent.on("store"):
            self._context.store.append([Record.of(trial, self._context.device, revision)])
        self.spent.trials += 1
        self.spent.failures += result.failure is not None
        self.spent.add(result.timings)
        if build.artifact is not None:
            self.spent.count(build.artifact.metadata.get("counts", {}))
        return trial


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
    """What a candidate's runs say together: all samples, or the first failure."""
    spent = Spent()
    for result in results:
        spent.add(result.timings)
    failure = next((each.failure for each in results if each.failure is not None), None)
    costs = () if failure is not None else tuple(cost for each in results for cost in each.costs)
    return MeasureResult(costs, failure, spent.timings)


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
    return MeasureResult(failure=Failure(FailureKind.INVALID_RESULT, text), timings=result.timings)
