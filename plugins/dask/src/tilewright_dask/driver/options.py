"""Options of the builder and the runner `dask`, and how the runner's reach devices."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from tilewright.options import Options
from tilewright.roles import Reached
from tilewright.vocabulary.target import Target
from tilewright_measure.local.options import LocalRunnerOptions, WorkerOptions


class SchedulerOptions(Options):
    """Which fleet."""

    scheduler: str = Field(description="address of Dask's scheduler: tcp://127.0.0.1:8786")
    tls: Path | None = Field(
        None, description="folder of certificates; for tls:// it is certs/ where not told"
    )


class DaskBuilderOptions(WorkerOptions, SchedulerOptions):
    """Options of the builder `dask`; limits hold on the workers."""


class DaskRunnerOptions(LocalRunnerOptions, SchedulerOptions):
    """Options of the runner `dask`; limits hold on the workers."""

    wait_seconds: float = Field(
        60.0, ge=0, description="how long to wait for a device where none is announced"
    )
    drift: float = Field(
        0.2, gt=0, description="share by which a device may be off from what it was, or its fellows"
    )

    def resolve_target(self, text: str | None) -> Target:
        """What a target's text means on the fleet's devices."""
        from tilewright_dask.driver.reaching import resolve_target

        return resolve_target(self, text)

    def reach(self, target: Target, pattern: str | None) -> Reached:
        """The devices that a run for the target uses."""
        from tilewright_dask.driver.reaching import reach

        return reach(self, target, pattern)
