"""Where the time of the trials of a run went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from tilewright.errors import UsageError
from tilewright_measure.local.options import LocalBuilderOptions

if TYPE_CHECKING:
    from tilewright.vocabulary.record import Record

_BUILT = ("lower", "compile")
_RUN = ("load", "check", "time")


@dataclass(frozen=True, slots=True)
class TrialPart:
    """One phase of a trial, in milliseconds.

    mean         over all trials, also those that failed before it
    median, p90  of the trials that came to it; None for what is done for a batch
    share        of the run's time; what workers do at the same time counts once
    """

    name: str
    mean_ms: float
    share: float
    median_ms: float | None = None
    p90_ms: float | None = None


@dataclass(frozen=True, slots=True)
class TrialProfile:
    """Trials a second, and the phases of a trial: proposing, building, running, storing, the rest.

    `wait` is for builders: their start, messages, and the slowest of a batch. The rest is making
    spaces, expected answers, the runner's start and messages.
    """

    trials: int
    failures: int
    seconds: float
    phases: tuple[TrialPart, ...]

    @classmethod
    def of(cls, records: Iterable[Record], measured: Mapping[str, Any]) -> TrialProfile:
        """From the records of a run with the local builder, and `measurement` of its run.json."""
        trials, seconds, split = measured["trials"], measured["seconds"], measured["split"]
        if not trials:
            raise UsageError("no trial came back", remedy="`tilewright doctor` says what is wrong")
        workers = LocalBuilderOptions.model_validate({}).workers
        once = (record for record in records if record.trial.input.conditions.turns == 1)
        times = [record.trial.result.timings for record in once]
        phases = []
        building = sum(split.get(name, 0.0) for name in _BUILT) / workers
        split = {**split, "wait": split.get("build", building) - building}
        for name in ("search", *_BUILT, "wait", *_RUN, "store"):
            spent = split.get(name, 0.0)
            each = sorted(1e3 * timings[name] for timings in times if name in timings)
            share = spent / seconds / (workers if name in _BUILT else 1)
            middle = median(each) if each else None
            late = quantiles(each, n=10, method="inclusive")[-1] if len(each) > 1 else None
            phases.append(TrialPart(name, 1e3 * spent / trials, share, middle, late))
        rest = 1 - sum(phase.share for phase in phases)
        phases.append(TrialPart("rest", 1e3 * rest * seconds / trials, rest))
        return cls(trials, measured["failures"], seconds, tuple(phases))

    def lines(self) -> Iterator[str]:
        """For people."""
        yield (
            f"{self.trials} trials, {self.failures} failed, in {self.seconds:.1f} s: "
            f"{self.trials / self.seconds:.1f} a second"
        )
        yield f"{'phase':8} {'median ms':>10} {'p90 ms':>8} {'mean ms':>8} {'of the time':>12}"
        for phase in self.phases:
            middle, late = (
                "" if value is None else f"{value:.2f}" for value in (phase.median_ms, phase.p90_ms)
            )
            yield f"{phase.name:8} {middle:>10} {late:>8} {phase.mean_ms:8.2f} {phase.share:12.0%}"

    def to_json(self) -> dict[str, Any]:
        return {
            "trials": self.trials,
            "failures": self.failures,
            "seconds": self.seconds,
            "trials_per_second": self.trials / self.seconds,
            "phases": {
                phase.name: {
                    "mean_ms": phase.mean_ms,
                    "median_ms": phase.median_ms,
                    "p90_ms": phase.p90_ms,
                    "share": phase.share,
                }
                for phase in self.phases
            },
        }
