"""Faults D-14 and D-15: what becomes of workers when their parent is killed or interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tilewright_measure.scratch import Scratch

SLACK = 3  # how much slower than the goals a loaded machine may be


@pytest.fixture
def parent(tmp_path):
    """(process, numbers of its workers): a builder with two, a runner with one that hangs and a spare."""
    process = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("orphaned_parent.py")],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    workers = process.stdout.readline().split()
    assert len(workers) == 4
    yield process, workers
    process.kill()
    process.communicate()


def _alive(workers):
    return [worker for worker in workers if _state(worker) not in ("", "Z")]


def _state(worker):
    try:
        return Path("/proc", worker, "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def test_workers_die_with_a_killed_parent_and_its_files_are_reclaimed(
    parent, tmp_path, monkeypatch
):
    process, workers = parent
    process.kill()
    process.wait()
    deadline = time.monotonic() + 1.0 * SLACK
    while _alive(workers):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    left = set(tmp_path.glob("*/pool-*"))
    assert len(left) == 2
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch = Scratch()
    assert set(tmp_path.glob("*/pool-*")) == {scratch.path}
    scratch.close()
    assert not list(tmp_path.glob("*/pool-*"))


def test_ctrl_c_reaches_only_the_parent_which_ends_its_workers(parent, tmp_path):
    process, workers = parent
    start = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    still_alive = process.stdout.readline().split()
    assert process.wait(10) == 130
    assert time.monotonic() - start < 2.0 * SLACK
    assert sorted(still_alive) == sorted(workers)
    assert not _alive(workers)
    assert not list(tmp_path.glob("*/pool-*"))


def test_a_folder_in_use_is_not_reclaimed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second = Scratch(), Scratch()
    assert first.path.is_dir()
    first.close()
    assert second.path.is_dir()
    second.close()
