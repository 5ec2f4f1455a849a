"""ONNX Runtime sends usage data unless it is told not to before it is loaded; Tilewright tells it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SWITCH = "ORT_DISABLE_TELEMETRY"
PLAIN = "import onnxruntime"
OURS = "from tilewright_onnx.silent_runtime import import_onnxruntime as load; load()"
A_RUN = """
import time
from tilewright.options import NoOptions
from tilewright_onnx.runtime import OnnxRuntime
from tilewright_graph.builder import NetworkBuilder
import numpy as np
b = NetworkBuilder("net")
network = b.network([b.relu(b.input("x", (1, 8)))])
x = np.ones((1, 8), np.float32)
oracle = OnnxRuntime(NoOptions(), None)
assert list(oracle.run(network, {"x": x}, ()).values())[0].sum() == 8
oracle.time(network, {"x": x}, 1)()
time.sleep(12)  # what it sends, it begins to send after ten seconds
"""


def fresh(script: str, home: Path, *, above: tuple[str, ...] = (), value: str | None = None) -> str:
    """Run a script in a process with a home and a cache of its own; what it prints."""
    home.mkdir()
    environment = {name: text for name, text in os.environ.items() if name != SWITCH}
    environment |= {"HOME": str(home), "XDG_CACHE_HOME": str(home)}
    environment |= {} if value is None else {SWITCH: value}
    command = [*above, sys.executable, "-c", script]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout


def left(home: Path) -> list[str]:
    return [path.name for path in home.rglob("*") if path.is_file()]


def test_loading_onnx_runtime_leaves_no_identifier_of_the_machine(tmp_path):
    fresh(PLAIN, tmp_path / "plain")
    if not left(tmp_path / "plain"):
        pytest.skip("this build of ONNX Runtime has no telemetry")
    fresh(OURS, tmp_path / "ours")
    fresh(OURS, tmp_path / "on", value="0")
    assert left(tmp_path / "ours") == left(tmp_path / "on") == []


@pytest.mark.parametrize("value", [None, "0"])
def test_loading_onnx_runtime_changes_no_variable_of_the_user(monkeypatch, value):
    from tilewright_onnx.silent_runtime import import_onnxruntime

    if value is None:
        monkeypatch.delenv(SWITCH, raising=False)
    else:
        monkeypatch.setenv(SWITCH, value)
    before = dict(os.environ)
    assert import_onnxruntime().__name__ == "onnxruntime"
    assert dict(os.environ) == before


@pytest.mark.full
def test_a_run_of_onnx_runtime_makes_no_connection(tmp_path):
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    trace = tmp_path / "calls"
    above = (strace, "-f", "-qq", "-e", "trace=network", "-o", str(trace))
    try:
        fresh("pass", tmp_path / "probe", above=above)
    except subprocess.CalledProcessError:
        pytest.skip("this system lets nobody trace")
    fresh(A_RUN, tmp_path / "home", above=above)
    assert "socket(" not in trace.read_text()
    assert left(tmp_path / "home") == []
