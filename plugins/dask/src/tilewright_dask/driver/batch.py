"""What one call of the runner asks for: candidates that are measured together on one device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from tilewright.roles import BuildResult
from tilewright.vocabulary.measure import Failure, FailureKind, MeasureInput, MeasureResult
from tilewright_dask.driver.deferred import DeferredArtifact, building_limits, code_of
from tilewright_dask.inputs import inputs_to_json
from tilewright_measure.local.building import artifact_to_json, build_result_from_json

_CLEAR_SECONDS = 1e-5
_SAMPLES = 3


@dataclass(eq=False, slots=True)
class Candidate:
    """One input that was built, or is yet to be, and the future of its result.

    timings   seconds of its build, where that was for this batch
    """

    input: MeasureInput
    build: BuildResult
    future: Future[MeasureResult]
    timings: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.timings = self.build.timings

    def finish(self, result: MeasureResult) -> None:
        """Set its result where it has none; the build's timings come on top."""
        if not self.future.done():
            timings = {**self.timings, **result.timings}
            self.future.set_result(replace(result, timings=timings))


@dataclass(eq=False, slots=True)
class Batch:
    """Candidates that are measured together.

    tried      names of the devices that were lost with it, or were too slow
    losses     how often a device was lost with it
    slowness   how often one was too slow
    offered    whether a builder had it: what it did not build then, a device builds
    """

    candidates: list[Candidate]
    tried: set[str] = field(default_factory=set)
    losses: int = 0
    slowness: int = 0
    offered: bool = False

    def request(self, session: str, reference: MeasureInput | None) -> dict[str, Any]:
        """What a device is sent, with what tells how fast it is."""
        codes = [code_of(each.build) for each in self.candidates]
        return {
            **self._asked(session),
            "do": "measure",
            "reference": None if reference is None else reference.to_json(),
            "artifacts": [None if code is None else artifact_to_json(code) for code in codes],
        }

    def build_request(self, session: str) -> dict[str, Any]:
        """What a builder is sent."""
        return {**self._asked(session), "do": "build"}

    def _asked(self, session: str) -> dict[str, Any]:
        return {
            "session": session,
            **inputs_to_json([each.input for each in self.candidates]),
            "building": building_limits([each.build for each in self.candidates]),
        }

    @property
    def over(self) -> bool:
        """Whether every candidate has its result."""
        return all(each.future.done() for each in self.candidates)

    @property
    def unbuilt(self) -> bool:
        """Whether a builder may build it."""
        return not self.offered and any(code_of(each.build) is None for each in self.candidates)

    def take_builds(self, builds: Sequence[Mapping[str, Any]]) -> None:
        """What a builder replied: candidates that fail leave the batch, with that as result.

        One that failed through no fault of its own is left for the device to build.
        """
        left = []
        for each, reply in zip(self.candidates, builds, strict=True):
            built = build_result_from_json(reply)
            if built.artifact is not None and isinstance(each.build.artifact, DeferredArtifact):
                each.build.artifact.made[:] = [built.artifact]
                each.build.artifact.note_counts(built.artifact.metadata.get("counts", {}))
                each.timings = built.timings
            elif built.failure is not None and not built.failure.kind.retried:
                each.finish(MeasureResult(failure=built.failure, timings=built.timings))
                continue
            left.append(each)
        self.candidates = left

    @property
    def reference(self) -> MeasureInput | None:
        """The quickest of its candidates that a clock can tell well, None where none worked.

        With warm constants and few samples: it is measured before every batch, and only ever
        compared with itself.
        """
        measured = [
            (seconds, each.input)
            for each in self.candidates
            if each.future.done() and (seconds := each.future.result().seconds)
        ]
        long = [one for one in measured if one[0] >= _CLEAR_SECONDS] or measured
        found = min(long, key=lambda one: one[0], default=None)
        if found is None:
            return None
        conditions = replace(found[1].conditions, constants="warm", repeat=_SAMPLES, turns=1)
        return replace(found[1], conditions=conditions)

    def finish(self, results: Sequence[Mapping[str, Any]], device: str) -> None:
        """The results that a device replied."""
        for each, result in zip(self.candidates, results, strict=True):
            if isinstance(each.build.artifact, DeferredArtifact):
                each.build.artifact.note_counts(result.get("counts", {}))
            each.finish(replace(MeasureResult.from_json(result), device=device))

    def fail(self, kind: FailureKind, text: str, device: str = "") -> None:
        """One failure for all that have no result yet."""
        for each in self.candidates:
            each.finish(MeasureResult(failure=Failure(kind, text), device=device))

    @property
    def in_turns(self) -> list[tuple[str, str]]:
        """Its candidates that are run in turns, of which all are to be of one device."""
        asked = [each.input for each in self.candidates if each.input.conditions.turns > 1]
        return [(each.task.key, each.config.text) for each in asked]
