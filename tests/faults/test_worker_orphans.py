"""D-14, D-15: what becomes of workers when their parent is killed or interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tilewright.errors import UsageError
from tilewright_measure.worker.scratch import Scratch
from tilewright_records.checks import verify_log


@pytest.fixture
def start_parent(tmp_path):
    """start_parent(): a process with a builder of two workers, a runner with one that hangs and a spare."""
    started = []

    def start():
        started.append(
            subprocess.Popen(
                [sys.executable, Path(__file__).with_name("orphaned_parent.py")],
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
                env={**os.environ, "TMPDIR": str(tmp_path)},
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def parent(start_parent):
    """(process, numbers of its workers), once all of them work."""
    process = start_parent()
    workers = {int(number) for number in process.stdout.readline().split()}
    assert len(workers) == 3  # two build, one measures
    return process, workers


def assert_nobody_left(folder, living_in):
    deadline = time.monotonic() + 120
    while left := living_in(folder):
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


def test_d14_workers_die_with_a_killed_parent_and_its_files_are_reclaimed(
    parent, tmp_path, monkeypatch, living_in
):
    process, workers = parent
    assert living_in(tmp_path) == workers
    process.kill()
    process.wait()
    assert_nobody_left(tmp_path, living_in)
    left = set(tmp_path.glob("*/pool-*"))
    assert len(left) == 2
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch = Scratch()
    assert set(tmp_path.glob("*/pool-*")) == {scratch.path}
    scratch.close()
    assert not list(tmp_path.glob("*/pool-*"))


@pytest.mark.parametrize("seconds", [0.3, 0.45, 0.6])
def test_d14_whenever_the_parent_is_killed_no_worker_stays(
    start_parent, tmp_path, monkeypatch, living_in, seconds
):
    """Most of these times hit workers that are just starting."""
    process = start_parent()
    time.sleep(seconds)
    process.kill()
    process.wait()
    assert_nobody_left(tmp_path, living_in)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    Scratch().close()
    assert not list(tmp_path.glob("*/pool-*"))


def test_d14_a_daemon_of_a_killed_run_is_ended_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    abandoned = Scratch()
    daemon = subprocess.Popen(
        [sys.executable, "-c", "import time; print('here', flush=True); time.sleep(150)"],
        env={**os.environ, "TMPDIR": str(abandoned.folder("worker-"))},
        start_new_session=True,
        stdout=subprocess.PIPE,
    )
    assert daemon.stdout is not None
    daemon.stdout.readline()  # before, it is a copy of this process, with its environment
    os.close(abandoned._owner)  # as if its process had been killed
    try:
        Scratch().close()
        assert daemon.wait(60) == -signal.SIGKILL
    finally:
        daemon.kill()
        daemon.wait()
        daemon.stdout.close()
    assert not abandoned.path.exists()


def test_d15_ctrl_c_reaches_only_the_parent_which_ends_its_workers(
    parent, tmp_path, living_in, soon
):
    process, workers = parent
    with soon(2.0):
        os.killpg(process.pid, signal.SIGINT)
        still_alive = {int(number) for number in process.stdout.readline().split()}
        assert process.wait(300) == 130
    assert still_alive == workers
    assert living_in(tmp_path) == set()
    assert not list(tmp_path.glob("*/pool-*"))


@pytest.mark.parametrize(("times", "seconds"), [(1, 2.0), (2, 0.3)])
def test_d15_ctrl_c_ends_a_run_whose_log_is_whole(tmp_path, living_in, soon, times, seconds):
    """Wherever it is: proposing, building, measuring, learning."""
    log = tmp_path / "records.jsonl"
    task = ["matmul(64x64, 64x64)", "--target", "x86:threads=1", "--budget", "1h"]
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", "from tilewright_cli import main; main()", "tune", *task),
            *("--quiet", "--records", str(log)),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
    )
    try:
        deadline = time.monotonic() + 1200
        while not log.exists() or log.read_bytes().count(b"\n") < 20:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)  # two at once are one signal
        with soon(seconds):
            assert process.wait(300) == 130
    finally:
        process.kill()
        process.wait()
    assert_nobody_left(tmp_path, living_in)
    assert verify_log(log).bad == ()


def test_a_folder_in_use_is_not_reclaimed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second = Scratch(), Scratch()
    assert first.path.is_dir()
    first.close()
    assert second.path.is_dir()
    second.close()


def test_a_temporary_folder_that_takes_nothing_is_told_with_its_remedy(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    with pytest.raises(
        UsageError, match="the temporary folder takes nothing: Not a directory"
    ) as got:
        Scratch()
    assert "set TMPDIR" in got.value.remedy
