"""The check at the end of a run of the tests sees what they leave behind."""

from __future__ import annotations

import os
import subprocess
import sys

import left_behind
import pytest


@pytest.fixture
def forgotten(monkeypatch):
    """A process in a session of its own whose parent is gone, as a test would forget it; ended at last."""
    monkeypatch.setenv(left_behind.MARK, "of-a-test")
    daemon = "import os, time; print(os.getpid(), flush=True); os.close(1); time.sleep(150)"
    parent = (
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]], "
        "start_new_session=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", parent, daemon], stdout=subprocess.PIPE, check=True, text=True
    )
    yield int(done.stdout)
    os.kill(int(done.stdout), 9)


def test_a_process_that_nobody_ended_is_named(forgotten):
    (found,) = left_behind.processes("of-a-test", patience_seconds=0)
    assert found.startswith(f"{forgotten}: ")
    assert "time.sleep(150)" in found
    assert left_behind.processes("of-another-test", patience_seconds=0) == []


def test_files_are_named_and_locks_are_not(tmp_path):
    locks = tmp_path / f"tilewright-{os.getuid()}"
    locks.mkdir()
    (locks / "lock").touch()
    assert left_behind.files(tmp_path) == []
    (locks / "pool-1").mkdir()
    (tmp_path / "forgotten.so").touch()
    assert left_behind.files(tmp_path) == ["forgotten.so", f"{locks.name}/pool-1"]


def test_names_beside_the_sources_are_seen(tmp_path):
    (tmp_path / ".pytest_cache").mkdir()
    (tmp_path / "records.jsonl").touch()
    assert left_behind.beside_the_sources(tmp_path) == {"records.jsonl"}
