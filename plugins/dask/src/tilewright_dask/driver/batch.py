"""What one call of the runner asks for: candidates that are measured together on one device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from tilewright.roles import BuildResult
from tilewright.vocabulary.measure import Failure, FailureKind, MeasureInput, MeasureResult
from tilewright_dask.driver.dask_builder import building_limits, is_deferred
from tilewright_measure.local.building import artifact_to_json

_CLEAR_SECONDS = 1e-5


@dataclass(eq=False, slots=True)
class Batch:
    """Inputs that were built, or are yet to be, and the futures of their results.

    tried      names of the devices that were lost with it, or were too slow
    losses     how often a device was lost with it
    slowness   how often one was too slow
    """

    inputs: Sequence[MeasureInput]
    builds: Sequence[BuildResult]
    futures: Sequence[Future[MeasureResult]]
    tried: set[str] = field(default_factory=set)
    losses: int = 0
    slowness: int = 0

    def request(self, session: str, reference: MeasureInput | None) -> dict[str, Any]:
        """What a worker is sent, with what tells how fast its device is."""
        return {
            "do": "measure",
            "session": session,
            "reference": None if reference is None else reference.to_json(),
            "inputs": [each.to_json() for each in self.inputs],
            "artifacts": [
                None
                if built.artifact is None or is_deferred(built)
                else artifact_to_json(built.artifact)
                for built in self.builds
            ],
            "building": building_limits(self.builds),
        }

    @property
    def reference(self) -> MeasureInput | None:
        """The quickest of its candidates that a clock can tell well, None where none worked."""
        measured = [
            (seconds, each)
            for each, future in zip(self.inputs, self.futures, strict=True)
            if future.done() and (seconds := future.result().seconds)
        ]
        long = [one for one in measured if one[0] >= _CLEAR_SECONDS] or measured
        found = min(long, key=lambda one: one[0], default=None)
        if found is None:
            return None
        return replace(found[1], conditions=replace(found[1].conditions, turns=1))

    def finish(self, results: Sequence[Mapping[str, Any]], device: str) -> None:
        """The results that a device replied."""
        for future, built, result in zip(self.futures, self.builds, results, strict=True):
            found = replace(MeasureResult.from_json(result), device=device)
            _set(future, replace(found, timings={**built.timings, **found.timings}))

    def fail(self, kind: FailureKind, text: str, device: str = "") -> None:
        """One failure for all that have no result yet."""
        for future, built in zip(self.futures, self.builds, strict=True):
            failure = Failure(kind, text)
            _set(future, MeasureResult(failure=failure, timings=built.timings, device=device))

    @property
    def turn(self) -> frozenset[tuple[str, str]] | None:
        """The candidates, where they are run in turns: all turns are of one device."""
        if all(each.conditions.turns == 1 for each in self.inputs):
            return None
        return frozenset((each.task.key, each.config.text) for each in self.inputs)


def _set(future: Future[MeasureResult], result: MeasureResult) -> None:
    if not future.done():
        future.set_result(result)
