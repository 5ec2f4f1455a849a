"""The disk of a worker is full: a run goes on, or does without it."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from fleet_bench import has_builder, has_devices, until

from tilewright.errors import UsageError
from tilewright.vocabulary.measure import FailureKind


@dataclass
class SmallDisk:
    """A file system of a MiB and few files."""

    folder: Path

    def fill(self):
        """Until it has room for no byte and no name."""
        with suppress(OSError), (self.folder / "bytes").open("wb") as file:
            while True:
                file.write(b"x" * 4096)
                file.flush()
        with suppress(OSError):
            for number in range(10_000):
                (self.folder / f"name{number}").touch()

    def free(self):
        for path in [self.folder / "bytes", *self.folder.glob("name*")]:
            path.unlink()


@pytest.fixture
def disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=128", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(options, capture_output=True, check=False, text=True)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if mounted.returncode:
        pytest.skip(f"may not mount a small disk: {mounted.stderr.strip()}")
    yield SmallDisk(folder)
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_disk_that_fills_up_in_a_run_costs_nothing_but_what_its_candidates_write(
    fleet, drive, disk
):
    fleet.scheduler()
    fleet.worker(environment={"TMPDIR": str(disk.folder)})
    bench = drive(timeout_seconds=30)
    asked = [bench.ask(act) for act in ("right", "fill_the_disk", "right", "segfault", "right")]
    expected = [None, FailureKind.RUN_ERROR, None, FailureKind.CRASH, None]
    for _ in range(2):
        results = bench.measure_all(asked)
        assert [result.failure and result.failure.kind for result in results] == expected
        disk.fill()  # by somebody else


def test_a_device_whose_disk_is_full_when_a_run_begins_joins_when_it_is_not(
    fleet, drive, disk, caplog, monkeypatch
):
    monkeypatch.setattr("tilewright_dask.driver.seat._ASIDE_SECONDS", 0.2)
    fleet.scheduler()
    full = fleet.worker(core=0, environment={"TMPDIR": str(disk.folder)})
    disk.fill()
    with pytest.raises(UsageError) as refused:
        drive()
    assert refused.value.where == full.name()
    assert refused.value.message.startswith("its worker failed: ")
    assert "No space left" in refused.value.message
    other = fleet.worker(core=1)
    bench = drive()
    until(lambda: f"{full.name()} is not used yet: its worker failed" in caplog.text, "warning")
    assert bench.measure().device == other.name()
    disk.free()
    has_devices(bench, 2)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="both need a core of their own")
def test_a_builder_whose_disk_is_full_builds_when_it_is_not(
    fleet, drive, disk, caplog, monkeypatch
):
    monkeypatch.setattr("tilewright_dask.driver.seat._ASIDE_SECONDS", 0.2)
    fleet.scheduler()
    fleet.worker(core=0)
    full = fleet.builder(core=1, environment={"TMPDIR": str(disk.folder)}).name("builder")
    disk.fill()
    bench = drive()
    until(lambda: f"{full} is not used yet: its worker failed" in caplog.text, "warning")
    assert bench.measure().failure is None
    disk.free()
    has_builder(bench)
    disk.fill()
    assert [future.result(120).seconds for future in bench.start("right", time=2e-3)] == [2e-3]
