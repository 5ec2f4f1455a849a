"""Fleets, and runs on them, that end with the test."""

from __future__ import annotations

import time
from contextlib import ExitStack

import pytest
from fleet_bench import Fleet, FleetBench

from tilewright_dask.driver.fleet_link import FleetLink
from tilewright_dask.driver.seat import Seat
from tilewright_dask.security.certificates import make_certificates


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


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "certs"
    make_certificates(folder, 1)
    return folder


@pytest.fixture
def soon_silent(monkeypatch):
    """soon_silent(worker): who drives takes it for lost after a second, and no other worker ever."""
    impatient = set()
    monkeypatch.setattr(
        Seat,
        "silent",
        property(lambda seat: seat.member.pid in impatient and time.monotonic() - seat._heard > 1),
    )
    return lambda worker: impatient.add(worker.process.pid)


@pytest.fixture
def other_version(tmp_path):
    """The environment of a worker that has another version of tilewright-measure.

    The first distribution of a name on the path is the one that is installed.
    """
    info = tmp_path / "other" / "tilewright_measure-9.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: tilewright-measure\nVersion: 9.0\n"
    )
    (info / "entry_points.txt").write_text("[tilewright]\nmeasure = tilewright_measure.plugin\n")
    return {"PYTHONPATH": str(info.parent)}
