"""Fleets, and runs on them, that end with the test."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from fleet_bench import Fleet, FleetBench

from tilewright_dask.driver.fleet_link import FleetLink


@pytest.fixture
def fleet(tmp_path):
    made = Fleet(tmp_path)
    yield made
    made.close()


@pytest.fixture
def drive(fleet):
    """drive(...): a builder and a runner `dask`, and what is asked of them, as a Bench."""
    with ExitStack() as closed:

        def make(**options):
            bench = FleetBench(fleet, **options)
            closed.callback(bench.close)
            return bench

        yield make
    if fleet.address:
        FleetLink.of(fleet.address, fleet.tls).close()
