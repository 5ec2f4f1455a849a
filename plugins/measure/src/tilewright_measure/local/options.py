"""Options of the builders and runners."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from tilewright.errors import UsageError
from tilewright.options import Options
from tilewright.paths import check_is_file, path_of
from tilewright.reading import open_file
from tilewright.vocabulary.device import Device


class WorkerOptions(Options):
    """What every isolated worker is given."""

    timeout_seconds: float | None = Field(
        None,
        gt=0,
        description="longest time one candidate may take; default: 10, on an emulated device 100",
    )
    memory_gib: float = Field(
        8.0, ge=0, description="address space of a worker in GiB; 0: no limit, as some drivers need"
    )

    def timeout_on(self, device: Device) -> float:
        """Seconds that a candidate may take there."""
        if self.timeout_seconds is not None:
            return self.timeout_seconds
        return 100.0 if device.emulated else 10.0

    @property
    def memory_bytes(self) -> int:
        return int(self.memory_gib * (1 << 30))


class LocalBuilderOptions(WorkerOptions):
    """Options of the builder `local`."""

    n_parallel: int | None = Field(None, ge=1, description="worker processes; default: every core")

    @property
    def workers(self) -> int:
        """So many processes; by default the cores that this process may use, not all there are."""
        if self.n_parallel is not None:
            return self.n_parallel
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1


class LocalRunnerOptions(WorkerOptions):
    """Options of the runner `local`; the sampling time asked for comes on top of the timeout."""

    racing: float = Field(
        1.5,
        ge=1,
        description="stop after 3 samples when all are slower than this times the task's best, "
        "after 1 when that is slower by a third more",
    )


class ReplayOptions(Options):
    """Options of the runner `replay`."""

    records: Annotated[Path, AfterValidator(path_of)] = Field(
        description="file of recorded measurements to play; may be .gz"
    )
    unknown: Literal["invalid_config", "run_error", "internal"] = Field(
        "invalid_config",
        description="failure of a config that has no record under these conditions",
    )

    def measured_on(self, device: Device) -> Device:
        """A device of its own for each recording, so that it is no history of the run's device.

        Nor of that of the same file when it has grown. This machine's peaks do not apply to it.
        """
        check_is_file(self.records, "recording", "name a records file: records: PATH")
        try:
            with open_file(self.records) as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()[:16]
        except OSError as error:
            raise UsageError(
                f"cannot read the recording: {error.strerror}",
                where=str(self.records),
                remedy="name a records file: records: PATH",
            ) from None
        attributes = {**device.attributes, "replays": content}
        return replace(device, attributes=attributes, peak_flops={}, bandwidth={})
