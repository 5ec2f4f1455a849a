"""Reads Kernel Tuner's caches and results in format T4 as records, an entry each.

A record's config is named `kernel_tuner:KERNEL`. No operator of ours is such a kernel, so nothing
is made of its configs unless a strategy of yours adopts them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tilewright.errors import UsageError
from tilewright.json_object import BadLineError, parse_object, sensible
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import Conditions, MeasureInput, Trial
from tilewright.vocabulary.record import AnyRecord, Record
from tilewright_records.recording import content_of
from tilewright_records.spaces.foreign_spaces import ForeignFile, file_name

PREFIX = "kernel_tuner:"
"""Of the names of configs read from these files."""
_MEMBERS = '"tune_params_keys"', '"configuration"', '"invalidity"'


class KernelTunerReader:
    """A record reader; numbers are those of entries, for a file is one JSON object."""

    def recognises(self, first_line: str) -> bool:
        """A line with a member that only these files have."""
        return any(member in first_line for member in _MEMBERS)

    def read(self, path: Path) -> Iterator[tuple[int, AnyRecord | BadLineError]]:
        """One record an entry. Raises UsageError where the file is no such object."""
        name = file_name(path)
        try:
            data = parse_object(content_of(path).strip())
            file: ForeignFile = sensible(lambda content: ForeignFile.of(name, content), data)
        except BadLineError as error:
            raise UsageError(
                f"neither a cache of Kernel Tuner's nor results in format T4: {error}",
                where=str(path),
                remedy="write the file anew, or take it from a run that ended",
            ) from None
        device = file.device or name
        for number, entry in enumerate(file.entries, 1):
            try:
                config, result = sensible(file.measured, entry)
                values = ConfigEntity(f"{PREFIX}{file.kernel}", config)
            except BadLineError as error:
                yield number, error
                continue
            asked = MeasureInput(file.task, values, Conditions(constants="warm"))
            yield number, Record(Trial(asked, result), device, f"{PREFIX}{device}", 0, number)
