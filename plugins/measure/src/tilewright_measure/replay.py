"""The builder and the runner `replay`: recorded measurements in place of a device.

Searches are compared on equal terms, without hardware and at full speed (after Kernel Tuner's
simulation mode).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from tilewright.host.contexts import MeasureContext
from tilewright.options import Options
from tilewright.roles import Artifact, BuildResult
from tilewright.vocabulary.measure import Failure, FailureKind, MeasureInput, MeasureResult
from tilewright_measure.local.options import ReplayOptions
from tilewright_records.recording import trials_in


class ReplayBuilder:
    """Gives an empty artefact for everything."""

    def __init__(self, options: Options, context: MeasureContext) -> None:
        del options, context  # nothing to know

    def build(self, inputs: Sequence[MeasureInput]) -> Sequence[BuildResult]:
        """One result an input, at once."""
        return [BuildResult(Artifact(str(each.task.target), "replay", b"")) for each in inputs]

    def close(self) -> None:
        """Nothing is open."""


class ReplayRunner:
    """Answers with the last record of a config under equal constants.

    Records of any device count, except trials that failed through no fault of the config. The
    file may be compressed (`.gz`). Raises UsageError where it cannot be read.
    """

    def __init__(self, options: ReplayOptions, context: MeasureContext) -> None:
        self._present = context.host.present  # of the context; nothing is measured here
        self._unknown = FailureKind(options.unknown)
        self._results: dict[tuple[str, str, str], MeasureResult] = {}
        for record in trials_in(options.records):
            if not record.trial.result.spoiled:
                self._results[self._key(record.trial.input)] = record.trial.result

    def run(
        self, inputs: Sequence[MeasureInput], builds: Sequence[BuildResult]
    ) -> Sequence[Future[MeasureResult]]:
        """One future an input, in order, all of them done."""
        futures: list[Future[MeasureResult]] = []
        for wanted, built in zip(inputs, builds, strict=True):
            future: Future[MeasureResult] = Future()
            future.set_result(self._result(wanted, built))
            futures.append(future)
        return futures

    def close(self) -> None:
        """Nothing is open."""

    def _result(self, wanted: MeasureInput, built: BuildResult) -> MeasureResult:
        if built.failure is not None:
            return MeasureResult(failure=built.failure)
        recorded = self._results.get(self._key(wanted))
        if recorded is not None:
            return recorded
        text = f"no {wanted.conditions.constants} measurement of this config is recorded"
        return MeasureResult(failure=Failure(self._unknown, text))

    def _key(self, wanted: MeasureInput) -> tuple[str, str, str]:
        config = self._present(wanted.config)
        return wanted.task.key, config.text, wanted.conditions.constants
