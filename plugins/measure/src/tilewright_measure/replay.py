"""The builder and the runner `replay`: recorded measurements in place of a device.

Searches are compared on equal terms, without hardware and at full speed (after Kernel Tuner's
simulation mode).
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

from tilewright.errors import UsageError
from tilewright.measure import Failure, FailureKind, MeasureInput, MeasureResult
from tilewright.options import Options
from tilewright.records import Record
from tilewright.records.line import BadLineError, unseal
from tilewright.records.record import RecordDecoder
from tilewright.roles import Artifact, BuildResult, MeasureContext
from tilewright_measure.options import ReplayOptions


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

    Whatever device it was measured on; what the machinery spoiled is no record of the config. The
    file may be compressed (`.gz`). Raises UsageError where it is missing.
    """

    def __init__(self, options: ReplayOptions, context: MeasureContext) -> None:
        del context  # nothing is measured here
        if not options.records.is_file():
            raise UsageError(
                f"no file {options.records} to replay", remedy="name a records file: records: PATH"
            )
        self._unknown = FailureKind(options.unknown)
        self._results: dict[tuple[str, str, str], MeasureResult] = {}
        for record in _recorded(options.records):
            result = record.trial.result
            if result.failure is None or not result.failure.kind.retried:
                self._results[_key(record.trial.input)] = result

    def run(
        self, inputs: Sequence[MeasureInput], builds: Sequence[BuildResult]
    ) -> Sequence[Future[MeasureResult]]:
        """One future an input, in order, all of them done."""
        del builds  # they are empty
        futures: list[Future[MeasureResult]] = []
        for wanted in inputs:
            future: Future[MeasureResult] = Future()
            future.set_result(self._results.get(_key(wanted)) or self._not_recorded(wanted))
            futures.append(future)
        return futures

    def close(self) -> None:
        """Nothing is open."""

    def _not_recorded(self, wanted: MeasureInput) -> MeasureResult:
        text = f"no {wanted.conditions.constants} measurement of this config is recorded"
        return MeasureResult(failure=Failure(self._unknown, text))


def _recorded(path: Path) -> Iterator[Record]:
    """The trials of a records file in its order; bad lines are skipped, as a store does."""
    opener = gzip.open if path.suffix == ".gz" else open
    decoder = RecordDecoder()
    with opener(path, "rb") as file:
        for line in file:
            try:
                record = decoder.decode(unseal(line.removesuffix(b"\n")))
            except BadLineError:
                continue
            if isinstance(record, Record):
                yield record


def _key(wanted: MeasureInput) -> tuple[str, str, str]:
    return wanted.task.key, wanted.config.text, wanted.conditions.constants
