"""A network is tuned, compiled and run where packages cannot be written to, and without network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Imported by every process at its start, workers among them. Chmod would not stop root.
GUARD = """\
import os, sys

KEPT = tuple(filter(None, {kept!r}))
CHANGES = {{"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.link", "os.symlink"}}

def guard(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.bind"):
        raise OSError(101, "Network is unreachable")
    writes = event in CHANGES
    if event == "open":
        writes = arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for path in arguments[:2] if writes else ():
        if isinstance(path, (str, bytes)) and os.path.abspath(os.fsdecode(path)).startswith(KEPT):
            raise OSError(30, "Read-only file system", path)

sys.addaudithook(guard)
"""


@pytest.fixture
def run(folder):
    """A function that runs code or a verb under the guard: the process that is over."""
    guard = folder / "guard"
    guard.mkdir()
    source = Path(__file__).parents[2]
    kept = [f"{source}{os.sep}", f"{sys.prefix}{os.sep}", f"{sys.base_prefix}{os.sep}"]
    (guard / "sitecustomize.py").write_text(GUARD.format(kept=kept), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(guard), "HOME": str(folder)}

    def invoke(*arguments):
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )

    return invoke


def test_the_guard_guards(run, folder):
    file = Path(__file__).with_name("never-written")
    for wrong in (
        f"open({str(file)!r}, 'w')",
        f"__import__('os').mkdir({str(file)!r})",
        "__import__('socket').create_connection(('127.0.0.1', 9))",
    ):
        done = run("-c", wrong)
        assert done.returncode == 1, wrong
        assert "OSError" in done.stderr
        assert not file.exists()
    assert run("-c", f"open({str(folder / 'written')!r}, 'w')").returncode == 0


@pytest.mark.parametrize("flag", ["--effort=0", "--set=tune.budget=4"])
def test_a_network_is_tuned_compiled_and_run(run, flag):
    quick = ["--set=measure.repeat=3", "--set=measure.min_repeat_ms=0", "--set=benchmark.runs=3"]
    verb = ["-c", "import tilewright_cli; tilewright_cli.main()", "run", "tiny.onnx", "--json"]
    done = run(*verb, "--target=x86", flag, *quick)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verify"]["passed"] is True
