"""Builds, runs and stores candidates: the part of tuning that touches the device."""

from __future__ import annotations

import random
import reprlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from tilewright.host.contexts import MeasureContext
from tilewright.plugins.blamed import Blamed
from tilewright.roles import BuildResult
from tilewright.vocabulary.measure import (
    Failure,
    FailureKind,
    MeasureInput,
    MeasureResult,
    Trial,
    is_seconds,
)
from tilewright.vocabulary.record import Charge, Record
from tilewright.vocabulary.task_set import ChecksTasks
from tilewright_pipeline.tuning.noise import is_disturbed, is_noisy

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.vocabulary.task_set import TaskSet
    from tilewright_pipeline.context.run_context import RunContext


@dataclass(slots=True)
class MeasurementSpent:
    """What was measured so far.

    timings   seconds of lower, compile, load, check, time, summed over the trials; and of `search`,
              what tuners took to learn and to propose, `build`, until batches were built, and
              `store`, to write the records
    counts    what the trials' artefacts count of themselves, summed
    disturbed   trials whose samples differ much, see `is_disturbed`
    """

    trials: int = 0
    failures: int = 0
    disturbed: int = 0
    timings: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, timings: Mapping[str, float], counts: Mapping[str, int] = {}) -> None:
        """Add seconds to the parts named, and what an artefact counts of itself."""
        for part, seconds in timings.items():
            self.timings[part] = self.timings.get(part, 0.0) + seconds
        for name, amount in counts.items():
            self.counts[name] = self.counts.get(name, 0) + amount

    @contextmanager
    def on(self, part: str) -> Iterator[None]:
        """Count the time of a block as this part."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add({part: time.perf_counter() - start})

    @property
    def noisy(self) -> bool:
        """Whether the machine did so much else that the best config may be another."""
        return is_noisy(self.disturbed, self.trials - self.failures)

    def report(self, seconds: float) -> dict[str, Any]:
        """The `measurement` member of run.json."""
        return {
            "trials": self.trials,
            "failures": self.failures,
            "seconds": seconds,
            "trials_per_second": self.trials / seconds if self.trials and seconds > 0 else 0.0,
            "disturbed": self.disturbed,
            "noisy": self.noisy,
            "split": dict(self.timings),
            "counts": dict(self.counts),
        }


def summed(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Two `measurement` members of run.json as one."""
    names = ("trials", "failures", "disturbed")
    spent = MeasurementSpent(*(first.get(name, 0) + second.get(name, 0) for name in names))
    for one in (first, second):
        spent.add(one.get("split", {}), one.get("counts", {}))
    return spent.report(first["seconds"] + second["seconds"])


class Measurement:
    """A builder and a runner, started with the first batch.

    >>> with Measurement(context) as measurement:
    ...     trials = measurement.measure(inputs)  # in order, each in the store when it returns
    ...     measurement.spent.trials

    `shield()` gives a section that Ctrl-C does not cut, so that a record is written whole.
    `stage` is the hash of the stage whose budget pays: every record says what it took of it, so
    that a run that is killed goes on with what is left. `tasks` are to come: a runner that can tell
    refuses what it cannot run before it runs anything.
    """

    def __init__(
        self,
        context: RunContext,
        shield: Callable[[], AbstractContextManager[None]] = nullcontext,
        stage: str | None = None,
        tasks: TaskSet | None = None,
    ) -> None:
        self.spent = MeasurementSpent()
        self._tasks = tasks
        self._stage = stage
        self._charged_until = time.monotonic()
        self._context = context
        self._shield = shield
        self._builder: Blamed | None = None
        self._runner: Blamed | None = None

    def __enter__(self) -> Measurement:
        return self

    def __exit__(self, *_: object) -> None:
        for closed in (self._runner, self._builder):
            if closed is not None:
                closed.close()

    def measure(self, inputs: Sequence[MeasureInput]) -> list[Trial]:
        """One trial an input, in order; a spoiled one is measured once more.

        Where the conditions ask for several turns, each is built once and run once a turn, in
        another order every turn: a slow phase of the machine falls on them all. One that failed
        gets no further turn.
        """
        trials = self._once(inputs)
        spoiled = [place for place, trial in enumerate(trials) if trial.result.spoiled]
        if spoiled:
            again = self._once([inputs[place] for place in spoiled], again=True)
            for place, trial in zip(spoiled, again, strict=True):
                trials[place] = trial
        return trials

    def _once(self, inputs: Sequence[MeasureInput], *, again: bool = False) -> list[Trial]:
        builder, runner = self._started()
        with self.spent.on("build"):
            builds = builder.build(inputs)
        with builder.blaming():
            _expect_one_each("builder", self._context.builder[0], builds, len(inputs))
        runs: list[list[Future[MeasureResult]]] = [[] for _ in inputs]
        for turn in range(max((each.conditions.turns for each in inputs), default=0)):
            due = _due(inputs, runs, turn)
            if not due:
                break
            futures = runner.run([inputs[place] for place in due], [builds[place] for place in due])
            with runner.blaming():
                _expect_one_each("runner", self._context.runner[0], futures, len(due))
            for place, future in zip(due, futures, strict=True):
                runs[place].append(future)
        asked = list(map(_Asked, inputs, builds, runs))
        trials: list[Trial] = []
        try:
            while rest := asked[len(trials) :]:
                for run in rest[0].runs:
                    _result(run)  # waits, for what was cancelled as well
                with self._shield():
                    # Together what came while the last were written: the disk takes its time.
                    trials += self._keep(takewhile(_Asked.is_done, rest), again)
        except KeyboardInterrupt:
            # What came back is paid for: keep it.
            self._keep((each for each in asked[len(trials) :] if each.came_back()), again)
            raise
        return trials

    def _started(self) -> tuple[Blamed, Blamed]:
        if self._builder is None or self._runner is None:
            # Each is kept as soon as it is made, so that it is closed whatever comes next.
            self._builder = self._made("builder", self._context.builder)[0]
            self._runner, runner = self._made("runner", self._context.runner)
            if self._tasks is not None and isinstance(runner, ChecksTasks):
                with self._runner.blaming():
                    runner.check_tasks(self._tasks)
        return self._builder, self._runner

    def _made(self, role: str, chosen: tuple[str, Mapping[str, Any]]) -> tuple[Blamed, Any]:
        """A component to measure with, and itself."""
        context, host = self._context, self._context.host
        made = host.make(role, *chosen, MeasureContext(host, context.device, context.seed))
        return Blamed(made, host, role, chosen[0]), made

    def uncharged_seconds(self) -> float:
        """Seconds that no record holds yet; from now on they count as recorded."""
        now = time.monotonic()
        seconds, self._charged_until = now - self._charged_until, now
        return seconds

    def _charge(self, trials: int) -> Charge | None:
        if self._stage is None:
            return None
        return Charge(self._stage, self.uncharged_seconds(), trials)

    def _keep(self, came: Iterable[_Asked], again: bool) -> list[Trial]:
        host, device, came = self._context.host, self._context.device, list(came)
        trials = [each.trial() for each in came]
        with self.spent.on("store"):
            self._context.store.append(
                Record.of(
                    trial,
                    device,
                    host.strategy(trial.input.config.strategy).revision,
                    self._charge(0 if again else 1),
                )
                for trial in trials
            )
        for trial, each in zip(trials, came, strict=True):
            # What is measured again has been counted, as a failure.
            self.spent.trials += not again
            self.spent.failures += (trial.result.failure is not None) - again
            self.spent.disturbed += is_disturbed(trial.result.costs)
            artifact = each.build.artifact
            counts = artifact.metadata.get("counts", {}) if artifact is not None else {}
            self.spent.add(trial.result.timings, counts)
        return trials


@dataclass(frozen=True, slots=True)
class _Asked:
    """A candidate as it was built, and its runs, one a turn."""

    input: MeasureInput
    build: BuildResult
    runs: Sequence[Future[MeasureResult]]

    def is_done(self) -> bool:
        return all(run.done() for run in self.runs)

    def came_back(self) -> bool:
        return self.is_done() and not any(run.cancelled() for run in self.runs)

    def trial(self) -> Trial:
        result = _joined([_result(run) for run in self.runs])
        return Trial(self.input, replace(result, timings={**result.timings, **self.build.timings}))


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
    """What a candidate's runs say together: all samples, or the first failure."""
    spent = MeasurementSpent()
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
