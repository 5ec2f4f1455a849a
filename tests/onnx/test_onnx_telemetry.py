"""ONNX Runtime sends usage data unless it is told not to before it is loaded; Tilewright tells it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

SWITCH = "ORT_DISABLE_TELEMETRY"
PLAIN = "import onnxruntime"
OURS = "from tilewright_onnx.runtime.silent_runtime import import_onnxruntime as load; load()"
A_RUN = """
import time
from tilewright.options import NoOptions
from tilewright_onnx.runtime.runtime import OnnxRuntime
from tilewright_graph.network.builder import NetworkBuilder
import numpy as np
b = NetworkBuilder("net")
network = b.network([b.relu(b.input("x", (1, 8)))])
x = np.ones((1, 8), np.float32)
oracle = OnnxRuntime(NoOptions(), None)
assert list(oracle.run(network, {"x": x}, ()).values())[0].sum() == 8
oracle.time(network, {"x": x}, 1)()
time.sleep(12)  # what it sends, it begins to send after ten seconds
"""

A_PIPELINE = """
from tilewright_cli.terminal.group import run
assert run(["run", "one.yaml", "--quiet"]) == 0
"""
PIPELINE = """\
version: 1
target: {kind: x86, threads: 2}
stages:
  - import:     {model: one.onnx}
  - extract:    {}
  - tune:       {tuner: {xgb: {batch: 8}}, budget: 40}
  - graph-tune: {graph_tuner: exact}
  - compile:    {}
  - verify:     {oracle: onnxruntime}
  - benchmark:  {peers: [onnxruntime], runs: 10}
"""


def fresh(script: str, home: Path, *, above: tuple[str, ...] = (), value: str | None = None) -> str:
    """Run a script in a process with a home and a cache of its own; what it prints."""
    home.mkdir()
    environment = {name: text for name, text in os.environ.items() if name != SWITCH}
    environment |= {"HOME": str(home), "XDG_CACHE_HOME": str(home), "TMPDIR": str(home)}
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
    from tilewright_onnx.runtime.silent_runtime import import_onnxruntime

    if value is None:
        monkeypatch.delenv(SWITCH, raising=False)
    else:
        monkeypatch.setenv(SWITCH, value)
    before = dict(os.environ)
    assert import_onnxruntime().__name__ == "onnxruntime"
    assert dict(os.environ) == before


@pytest.fixture
def traced(tmp_path):
    """A function that runs a script in a fresh process, and gives the sockets that it asked for."""
    strace, trace = shutil.which("strace"), tmp_path / "calls"
    if strace is None:
        pytest.skip("strace is not installed")
    above = (strace, "-f", "-qq", "-e", "trace=socket", "-o", str(trace))
    try:
        fresh("pass", tmp_path / "probe", above=above)
    except subprocess.CalledProcessError:
        pytest.skip("this system lets nobody trace")

    def run(script):
        fresh(script, tmp_path / "home", above=above)
        return [line for line in trace.read_text().splitlines() if "socket(" in line]

    return run


@pytest.mark.full
def test_a_run_of_onnx_runtime_makes_no_connection(traced, tmp_path):
    assert traced(A_RUN) == []
    assert left(tmp_path / "home") == []


@pytest.mark.full
@pytest.mark.needs("x86", "search", "measure")
def test_a_pipeline_makes_no_connection(traced, tmp_path, monkeypatch, make_model):
    """Workers talk to it by pipes and sockets of this machine."""
    monkeypatch.chdir(tmp_path)
    node = helper.make_node("Conv", ["x", "w"], ["y"])
    weights = {"w": np.ones((8, 8, 3, 3), np.float32)}
    (tmp_path / "one.onnx").write_bytes(
        make_model([node], {"x": (1, 8, 9, 9)}, weights).SerializeToString()
    )
    (tmp_path / "one.yaml").write_text(PIPELINE)
    asked = traced(A_PIPELINE)
    assert json.loads((tmp_path / "runs/one/run.json").read_text())["verify"]["passed"]
    assert [line for line in asked if "AF_UNIX" not in line] == []
