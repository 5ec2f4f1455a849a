"""benchmarks/cuda, as far as a machine without a GPU can go: its tasks, its parts rehearsed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright.host import PluginHost
from tilewright.target import Target
from tilewright.task_text import find_task
from tilewright_cuda.devices import gpus
from tilewright_cuda.emulation.compile import compiler_version

FOLDER = Path(__file__).parents[2] / "benchmarks" / "cuda"
TARGET = Target.parse("cuda:arch=sm_90")


@pytest.fixture
def workloads(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import workloads

    yield workloads
    del sys.modules["workloads"]


def test_every_workload_is_a_task_with_strategies(workloads):
    host = PluginHost.load()
    texts = (*workloads.CONVOLUTIONS, *workloads.OTHERS, *workloads.ODD)
    tasks = [find_task(text, TARGET, host, None) for text in texts]
    assert len({task.key for task in tasks}) == len(texts)
    assert all(host.strategies(task) for task in tasks)


def test_the_peer_is_asked_for_the_same_convolution(workloads):
    host = PluginHost.load()
    for text in workloads.CONVOLUTIONS:
        image, weights, stride, padding = workloads.parsed(text)
        workload = find_task(text, TARGET, host, None).workload
        assert [list(spec.shape) for spec in workload.inputs] == [image, weights]
        assert workload.attributes["strides"] == (stride, stride)
        assert workload.attributes["padding"] == (padding,) * 4


@pytest.mark.parametrize("script", ["bundle.sh", "run_all.sh"])
def test_scripts_refuse_options_that_they_do_not_know(script):
    done = subprocess.run(
        ["bash", str(FOLDER / script), "layers", "--nonsense"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "unknown option" in done.stderr


def test_without_a_device_a_part_says_so(tmp_path):
    if gpus():
        pytest.skip("this machine has a GPU")
    done = _part("correctness", tmp_path)
    report = json.loads((tmp_path / "correctness.json").read_text())
    assert done.returncode == 1
    assert "this machine has no GPU" in done.stderr
    assert "this machine has no GPU" in report["environment"]["no_device"]
    assert report["environment"]["missing"]["gpu"] in done.stderr
    assert report["finished"] is False


@pytest.mark.full
def test_a_rehearsed_part_leaves_a_whole_report_and_names_an_absent_peer(tmp_path):
    if compiler_version() is None:
        pytest.skip("emulation needs g++")
    assert _part("layers", tmp_path, "--device", "emulated").returncode == 0
    report = json.loads((tmp_path / "layers.json").read_text())
    assert report["finished"]
    assert report["rehearsal"]
    assert report["peer"]["about"] or "torch" in report["peer"]["absent"]
    assert [row["seconds"]["tilewright"] > 0 for row in report["convolutions"]] == [True, True]


def _part(name, out, *options):
    command = [sys.executable, str(FOLDER / "part.py"), name, "--out", str(out), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)
