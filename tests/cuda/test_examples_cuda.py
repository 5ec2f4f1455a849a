"""The examples of this target: what a machine without a GPU makes of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilewright_cli.terminal.group import run
from tilewright_cuda.device.devices import gpus
from tilewright_cuda.emulation.compile import compiler_version
from tilewright_pipeline.pipeline import Pipeline

EXAMPLES = Path(__file__).parents[2] / "examples"


def stages(name: str) -> list[str]:
    return [stage.name for stage in Pipeline.load(EXAMPLES / name).plan.stages]


def test_both_examples_go_from_import_to_benchmark():
    emulated = stages("resnet18-cuda-emulated.yaml")
    assert emulated == stages("resnet18-cuda.yaml")
    assert (emulated[0], emulated[-2:]) == ("import", ["verify", "benchmark"])


def test_the_example_for_a_gpu_names_the_way_out_where_there_is_none(tmp_path, capsys):
    if gpus():
        pytest.skip("this machine has a GPU")
    out = tmp_path / "out"
    code = run(["run", str(EXAMPLES / "resnet18-cuda.yaml"), "--out", str(out)])
    told = capsys.readouterr().err
    assert code == 2
    assert "gpu: libcuda.so.1" in told
    assert "--device emulated" in told or compiler_version() is None
    assert not out.exists()


@pytest.mark.full
def test_the_emulated_example_is_tuned_compiled_and_right(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    if compiler_version() is None:
        pytest.skip("emulation needs g++")
    monkeypatch.chdir(tmp_path)
    example = str(EXAMPLES / "resnet18-cuda-emulated.yaml")
    assert run(["run", example, "--set", "tune.budget=25", "--quiet"]) == 0
    folder = tmp_path / "runs" / "resnet18-cuda-emulated"
    told = json.loads((folder / "run.json").read_text())
    assert told["device"]["name"] == "emulated"
    assert told["verify"]["passed"]
    assert told["compile"]["configs"]["fallback"] == 0
    assert all(task["trials"] and task["peak_share"] is None for task in told["tasks"])
    assert told["benchmark"][0]["tilewright"]["runs"] == 3
