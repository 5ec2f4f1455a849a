"""D-22 for real: a run on cores that others load says so; tests/pipeline has it with a made-up neighbour."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import tilewright


@pytest.fixture
def neighbours():
    """Three busy processes a core."""
    count = 3 * (os.cpu_count() or 1)
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    yield
    for process in spinning:
        process.kill()
        process.wait()


@pytest.mark.full
@pytest.mark.usefixtures("neighbours")
def test_d22_a_run_on_cores_that_others_load_says_so(tmp_path, caplog):
    found = tilewright.tune(
        "dense(64x256, 256x256)",
        target="x86:threads=1",
        tuner="random",
        budget=60,
        records=tmp_path / "records.jsonl",
    )
    assert found.summary["noisy"]
    assert "something else works on this machine" in caplog.text
