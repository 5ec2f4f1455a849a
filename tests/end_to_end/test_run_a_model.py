"""`tilewright run MODEL`: everything by default, the comparison of answers included."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest

from tilewright_pipeline.run.run_report import SCHEMA_FILE

SMALL = [
    f"--set={setting}"
    for setting in (
        "tune.tuner=random",
        "tune.budget=2",
        "measure.repeat=3",
        "measure.min_repeat_ms=0",
        "graph-tune.transform_budget=0",
        "benchmark.runs=3",
    )
] + ["--target", "x86:threads=1"]


@pytest.fixture
def run(call, folder):
    """A function that runs a verb with a small budget: (exit code, report, stderr)."""

    def invoke(*arguments):
        code, out, err = call("run", *arguments, *SMALL, "--json")
        report = json.loads(out) if out else None
        if report:
            jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
        return code, report, err

    return invoke


def test_the_answers_of_a_model_are_compared_where_an_oracle_is_installed(run):
    code, report, err = run("tiny.onnx")
    assert code == 0, err
    assert (report["verify"]["oracle"], report["verify"]["passed"]) == ("onnxruntime", True)


def test_without_an_oracle_it_says_answers_not_checked_and_verify_demands_one(
    run, call, monkeypatch, caplog
):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    code, report, _ = run("tiny.onnx")
    assert (code, report["verify"]["passed"], report["verify"]["oracle"]) == (0, None, None)
    assert any("answers not checked: ONNX Runtime is not installed" in m for m in caplog.messages)
    code, _, err = run("tiny.onnx", "--verify")
    assert (code, "error: tiny.onnx: stages[5].verify: ONNX Runtime is not inst" in err) == (
        2,
        True,
    )


def test_verify_without_an_oracle_is_refused_before_anything_is_tuned(run, call, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    for source in ("tiny.onnx", "tiny.yaml"):  # the file names the oracle
        code, _, err = run(source, "--verify")
        assert (code, "ONNX Runtime is not installed: " in err) == (2, True), err
        assert not list(Path("runs").glob("**/records.jsonl"))
    _, out, _ = call("doctor", "--json")
    noted = [check["what"] for check in json.loads(out)["checks"]]
    assert any("oracle onnxruntime: ONNX Runtime is not installed: " in what for what in noted)


def test_no_verify_leaves_the_comparison_out_and_verify_brings_it_in(run, folder):
    path = folder / "tiny.yaml"
    path.write_text(path.read_text().replace("  - verify:     {oracle: onnxruntime}\n", ""))
    _, without, _ = run("tiny.onnx", "--no-verify")
    assert "verify" not in without
    assert "verify" not in [stage["name"] for stage in without["stages"]]
    code, report, err = run("tiny.yaml", "--verify")
    assert code == 0, err
    assert report["verify"]["passed"] is True
    assert report["stages"][-1]["name"] == "verify"


def test_at_effort_0_no_stage_measures_a_kernel(call, folder):
    code, out, err = call(
        "run", "tiny.onnx", "--effort", "0", "--set=benchmark.runs=3", *SMALL[-2:], "--json"
    )
    assert code == 0, err
    report = json.loads(out)
    assert "graph" not in report
    assert report["compile"]["configs"]["graph choice"] == 0
    assert report["verify"]["passed"] is True
    assert not any('"trial"' in path.read_text() for path in folder.rglob("records.jsonl"))
