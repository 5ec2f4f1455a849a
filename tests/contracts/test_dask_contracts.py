"""The builder and runner suites over those of a fleet: one worker, a process of its own on loopback."""

from __future__ import annotations

from pathlib import Path

import pytest
from fleet_bench import NO_DRIFT, Fleet

from tilewright_testing.builder import BuilderContract
from tilewright_testing.measurement import ImaginaryMeasurementContract
from tilewright_testing.runner import IsolatedRunnerContract, RunnerContract
from tilewright_testing.support import imaginary_target


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """Address of the scheduler of a fleet that has the imaginary device."""
    # Here, as all files of this folder are read also where the plugin is not installed.
    from tilewright_dask.driver.fleet_link import FleetLink

    fleet = Fleet(tmp_path_factory.mktemp("fleet"))
    try:
        fleet.scheduler()
        fleet.worker(device=imaginary_target.NAME, plugins=(Path(imaginary_target.__file__),))
        yield fleet.address
        FleetLink.of(fleet.address, None).close()
    finally:
        fleet.close()


class OnAFleet(ImaginaryMeasurementContract):
    """Its options name a fleet that is there only once the test begins."""

    @pytest.fixture(autouse=True)
    def _addressed(self, scheduler: str) -> None:
        self.builder_options = {"scheduler": scheduler, "timeout_seconds": 6}
        self.options = self.builder_options


class TestDaskBuilder(OnAFleet, BuilderContract):
    """What it gives is built on the device that measures."""

    name = "dask"


class OfRunners(OnAFleet):
    name = builder_name = "dask"

    @pytest.fixture(autouse=True)
    def _steady(self, _addressed: None) -> None:
        self.options = {**self.builder_options, "drift": NO_DRIFT}


class TestDaskRunner(OfRunners, RunnerContract):
    """One future an input, whatever device it goes to."""


class TestDaskRunnerInIsolation(OfRunners, IsolatedRunnerContract):
    """No candidate hurts a worker."""
