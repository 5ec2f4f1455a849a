"""Equal records and an equal seed make a network of equal bytes, whoever compiles it, and without a record none."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.fixture
def tuned(folder, call):
    """A folder with the records of a network."""
    assert call("run", "tiny.yaml", "--no-verify", "--out", "tuned")[0] == 0
    return folder / "tuned" / "records.jsonl"


def test_two_processes_compile_the_same_bytes(tuned, folder):
    command = [sys.executable, "-m", "tilewright", "compile", "tiny.yaml", "--frozen", "--quiet"]
    for name, seed in (("one", "1"), ("other", "2")):
        where = ["--out", f"{name}/of/a/run", "--set", f"records={tuned}"]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([*command, *where], cwd=folder, env=environment, check=True)
    one, other = (folder / name / "of/a/run/network" for name in ("one", "other"))
    files = sorted(file.name for file in one.iterdir())
    assert files == ["code", "constants", "manifest.json"]
    assert [(one / name).read_bytes() for name in files] == [
        (other / name).read_bytes() for name in files
    ]


def test_a_kernel_without_a_record_is_named_and_nothing_is_compiled(tuned, folder, call):
    lines = tuned.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if b'"conv2d"' not in line and b'"softmax"' not in line]
    (folder / "few.jsonl").write_bytes(b"".join(kept))
    code, _, err = call(
        "compile", "tiny.yaml", "--frozen", "--set", "records=few.jsonl", "--out", "few"
    )
    assert code == 2
    assert "no record of 3 kernels" in err
    assert [err.count(f"no record of {one}(") for one in ("conv2d", "softmax")] == [2, 1]
    assert not (folder / "few" / "network").exists()
