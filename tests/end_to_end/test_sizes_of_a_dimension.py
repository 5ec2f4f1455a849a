"""A model whose batch has a range, from the command line: compiled, checked, saved, run, tuned where it was not."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from tilewright_pipeline.run.run_report import SCHEMA_FILE

COMPILE = ("named.onnx", "--target", "x86:threads=1", "--dim", "batch=5..7")

PIPELINE = """\
version: 1
name: named
target: {kind: x86, threads: 1}
measure: {repeat: 3, min_repeat_ms: 0}
stages:
  - import:     {model: named.onnx, dims: {batch: 5..7}}
  - extract:    {}
  - graph-tune: {graph_tuner: greedy, transform_budget: 1}
  - compile:    {}
  - verify:     {oracle: onnxruntime}
"""


@pytest.fixture
def named(folder, make_model):
    """`named.onnx`, whose batch has no size."""
    Path("named.onnx").write_bytes(make_model(batch="batch"))


def test_a_run_chooses_for_tells_and_checks_every_bucket_and_saves_one_network(call, named):
    Path("named.yaml").write_text(PIPELINE)
    code, out, err = call("run", "named.yaml", "--json")
    assert code == 0, err
    report = json.loads(out)
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    table, each = report["buckets"]["table"], report["buckets"]["each"]
    ends = {size for row in table for size in row["sizes"]["batch"]}
    assert {one["sizes"]["batch"] for one in report["verify"]["sizes"]} == ends >= {5, 7}
    assert [one["sizes"] for one in each] == [{"batch": 6}, {"batch": 7}]
    assert all(one["network_ms"] > 0 and one["arena_bytes"] > 0 for one in each)
    assert all(one["configs"]["graph choice"] == sum(one["configs"].values()) for one in each)
    assert {"dense_6x8_11x8", "dense_7x8_11x8"} <= {task["name"] for task in report["tasks"]}
    code, out, _ = call("network", "verify", "runs/named", "--model", "named.onnx")
    assert (code, out.startswith("passed against")) == (0, True)
    assert call("network", "benchmark", "runs/named", "--runs", "3")[0] == 0


def test_a_saved_range_is_shown_and_run_at_any_size(call, named):
    assert call("compile", *COMPILE, "--quiet")[0] == 0
    shown = call("network", "show", "runs/named")[1]
    assert "inputs    float32[batch, 8, 7, 7]  x" in shown
    assert "\nbatch  runs as  ms\n5" in shown
    told = json.loads(call("network", "show", "runs/named", "--json")[1])
    assert told["dimensions"] == {"batch": "5..7"}
    ends = [row["sizes"]["batch"] for row in told["table"]]
    assert (ends[0][0], ends[-1][1]) == (5, 7)
    assert call("network", "run", "runs/named")[1].startswith("y  float32[7, 11]")
    np.savez("five.npz", x=np.ones((5, 8, 7, 7), np.float32))
    run = ("network", "run", "runs/named", "--inputs", "five.npz")
    assert call(*run, "--dim", "batch=5")[1].startswith("y  float32[5, 11]")
    assert "expected float32[7, 8, 7, 7], got float32[5, 8, 7, 7]" in call(*run)[2]
    assert "batch is 8, expected 5..7" in call(*run, "--dim", "batch=8")[2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("batch",), "--dim: expected NAME=SIZES once a name; got 'batch'"),
        (("batch=1", "--dim", "batch=2"), "'batch' is given twice"),
        (("bath=1..2",), "named.onnx: dims: the model has no dimension named 'bath'"),
        (("batch=2..1",), "expected a size from 1, or a range such as 1..32"),
    ],
)
def test_sizes_that_are_none_are_told_in_one_line(call, named, given, message):
    code, _, err = call("compile", "named.onnx", "--dim", *given, "--quiet")
    assert (code, message in err) == (2, True), err


def test_what_rests_on_no_measurement_is_recorded_and_tuned(call, named):
    assert call("compile", *COMPILE, "--quiet")[0] == 0
    listed = call("record-untuned", "runs/named", "--out", "untuned.json")[1].splitlines()
    tasks = json.loads(Path("untuned.json").read_text())["tasks"]
    assert [f"{task['key']}  {task['text']}" for task in tasks] == listed
    assert any(line.endswith("dense(7x8, 11x8)") for line in listed)
    tuned = ("tune", "untuned.json", "--records", "runs/named/records.jsonl", "--tuner", "random")
    assert call(*tuned, "--budget", str(len(tasks)), "--repeat", "3", "--quiet")[0] == 0
    assert call("compile", *COMPILE, "--quiet")[0] == 0
    assert call("record-untuned", "runs/named")[1] == "every kernel's config was measured\n"
