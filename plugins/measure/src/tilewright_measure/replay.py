"""The builder and the runner `replay`: recorded measurements in place of a device.

Searches are compared on equal terms, without hardware and at full speed (after Kernel Tuner's
simulation mode).
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

from tilewright.errors import UsageError
from tilewright.host.contexts import MeasureContext
from tilewright.json_object import BadLineError
from tilewright.options import Options
from tilewright.reading import open_file
from tilewright.roles import Artifact, BuildResult
from tilewright.vocabulary.measure import Failure, FailureKind, MeasureInput, MeasureResult
from tilewright.vocabulary.record import Record
from tilewright_measure.local.options import ReplayOptions
from tilewright_records.decoding import RecordDecoder
from tilewright_records.line import unseal, whole_lines

_MAX_BYTES = 2**28
"""Of a recording, unpacked: half a million records."""


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
        for record in _recorded(options.records):
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


def _recorded(path: Path) -> Iterator[Record]:
    """The trials of a records file in its order; bad lines are skipped, as a store does."""
    decoder = RecordDecoder()
    for line in _lines(path):
        with suppress(BadLineError):
            record = decoder.decode(unseal(line))
            if isinstance(record, Record):
                yield record


def _lines(path: Path) -> Iterator[bytes]:
    left = _MAX_BYTES
    try:
        with open_file(path) as packed:
            file = gzip.GzipFile(fileobj=packed) if path.suffix == ".gz" else packed
            for line in whole_lines(file):
                left -= len(line) + 1
                if left < 0:
                    raise UsageError(
                        f"more than {_MAX_BYTES} bytes when unpacked",
                        where=str(path),
                        remedy="replay a part of it",
                    )
                yield line
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"cannot read the file: {error}", where=str(path)) from error
