"""`--device emulated` from the command line: tune, and a network from import to benchmark."""

from __future__ import annotations

import json

import pytest

from tilewright_cli.terminal.group import run
from tilewright_cuda.compile.compiler import find_compiler

_PIPELINE = """\
version: 1
name: small
target: {kind: cuda, arch: sm_90}
device: emulated
stages:
  - import:    {model: "zoo:resnet-18", frontend: {zoo: {size: 32}}}
  - extract:   {}
  - compile:   {}
  - verify:    {oracle: onnxruntime, rtol: 1.0e-4}
  - benchmark: {runs: 3}
"""


def test_tune_measures_on_the_emulation_and_counts_the_cubins(tmp_path, capsys):
    records = tmp_path / "records.jsonl"
    arguments = ["--target", "cuda:arch=sm_90", "--device", "emulated", "--tuner", "random"]
    arguments += ["--budget", "5", "--json", "--records", str(records)]
    assert run(["tune", "dense(5x64, 32x64)", *arguments]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["trials"], told["failures"]) == (5, 0)
    assert told["best_seconds"] > 0
    assert told["cubins"] == (5 if find_compiler() else 0)
    trials = [json.loads(line) for line in records.read_text().splitlines()]
    names = {trial["device"]["name"] for trial in trials if trial["kind"] == "trial"}
    assert names == {"emulated"}


@pytest.mark.parametrize(
    ("precision", "strategy"),
    [
        ("tf32", "gemm_mma_tf32.cuda"),
        ("bfloat16", "gemm_mma_bf16.cuda"),
        ("float16", "gemm_mma_f16.cuda"),
    ],
)
def test_tune_takes_tensor_cores_in_the_precision_of_the_run(tmp_path, capsys, precision, strategy):
    records = tmp_path / "records.jsonl"
    arguments = ["--target", "cuda:arch=sm_90", "--device", "emulated", "--precision", precision]
    arguments += ["--budget", "1", "--json", "--records", str(records)]
    assert run(["tune", "matmul(5x24, 24x9)", *arguments]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["trials"], told["failures"], told["strategy"]) == (1, 0, strategy)


@pytest.mark.full
def test_a_network_runs_on_the_emulation_from_import_to_benchmark(tmp_path):
    pytest.importorskip("onnxruntime")
    file = tmp_path / "small.yaml"
    file.write_text(_PIPELINE)
    assert run(["run", str(file), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    told = json.loads((tmp_path / "out" / "run.json").read_text())
    assert told["device"]["name"] == "emulated"
    assert told["verify"]["passed"] is True
