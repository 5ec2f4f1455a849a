"""A space whose every point was measured: what searches are compared on without hardware."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from tilewright.errors import UsageError
from tilewright.space.config_space import ConfigSpace
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import (
    Conditions,
    Failure,
    FailureKind,
    MeasureInput,
    MeasureResult,
    Trial,
)
from tilewright.vocabulary.task import Task

_UNKNOWN = MeasureResult(failure=Failure(FailureKind.INVALID_CONFIG, "this config is not recorded"))


@dataclass(frozen=True)
class RecordedSpace:
    """A task's space and the result of each of its points.

    name        what it is asked for by, and told as
    conditions  under which everything was measured
    results     of every feasible point; what is not there fails as an invalid config
    device      what it was measured on, for people
    """

    name: str
    task: Task
    space: ConfigSpace
    conditions: Conditions
    results: Mapping[ConfigEntity, MeasureResult]
    device: str = ""

    def measure(self, config: ConfigEntity) -> Trial:
        """The trial recorded for a config."""
        asked = MeasureInput(self.task, config, self.conditions)
        return Trial(asked, self.results.get(config, _UNKNOWN))

    def measure_all(self, configs: Iterable[ConfigEntity]) -> list[Trial]:
        """A batch, in order."""
        return list(map(self.measure, configs))

    def true_seconds(self, config: ConfigEntity) -> float | None:
        """Seconds of a config, None where it failed."""
        return self.measure(config).result.seconds

    @cached_property
    def best_seconds(self) -> float:
        """The least seconds over the whole space. Raises UsageError where nothing worked."""
        times = [result.seconds for result in self.results.values()]
        worked = [seconds for seconds in times if seconds is not None]
        if not worked:
            raise UsageError(
                "every config of this space failed", where=self.name, remedy="leave it out"
            )
        return min(worked)

    def count_within(self, percent: float) -> int:
        """How many configs are at most so much slower than the best."""
        limit = (1 + percent / 100) * self.best_seconds
        times = (result.seconds for result in self.results.values())
        return sum(seconds is not None and seconds <= limit for seconds in times)

    @cached_property
    def tells_trial_seconds(self) -> bool:
        """Whether it is known of every trial that worked how long it took."""
        return all(result.timings for result in self.results.values() if result.costs)
