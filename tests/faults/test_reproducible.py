"""D-24: the same seed and the same records make the same proposals, in any process and anywhere.

`ReproducibleTunerContract` says so of every tuner alone; here a whole run says it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tilewright_records.store.store import JsonlRecordStore

MAIN = "from tilewright_cli import main; main()"
# What differs between two machines and may leak into an order: hashes, threads, place, language.
MACHINES = (
    {"PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "1", "TZ": "UTC", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "2", "OMP_NUM_THREADS": "2", "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"},
)


def proposals(folder, toy, machine, *arguments):
    command = [sys.executable, "-c", MAIN, "tune", "toyadd(64)", "--target", "toy"]
    command += ["--plugin", str(toy), "--runner", "toy", "--builder", "toy", "--scheduler", "toy"]
    command += ["--records", "records.jsonl", "--quiet", *arguments]
    environment = {**os.environ, **machine, "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [record.config.text for record in JsonlRecordStore(folder / "records.jsonl").records()]


@pytest.mark.parametrize("tuner", ["xgb", "genetic"])
def test_d24_two_machines_with_equal_records_propose_the_same(tmp_path, toy, tuner):
    known = tmp_path / "known"
    known.mkdir()
    before = proposals(known, toy, MACHINES[0], "--tuner", "random", "--budget", "10")
    found = []
    for number, machine in enumerate(MACHINES):
        folder = tmp_path / f"machine{number}"
        folder.mkdir()
        shutil.copy(known / "records.jsonl", folder)
        flags = ("--tuner", tuner, "--budget", "24", "--seed", "7")
        found.append(proposals(folder, toy, machine, *flags))
    assert found[0] == found[1]
    assert found[0][: len(before)] == before
    assert len(found[0]) > len(before) + 10
