"""The last word inside the network, through the command line, on x86."""

from __future__ import annotations

import json

import jsonschema
import pytest

from tilewright_pipeline.run.run_report import SCHEMA_FILE


@pytest.fixture
def with_finals(folder):
    text = (folder / "tiny.yaml").read_text().replace("budget: 10}", "budget: 60}")
    finals = "  - finals:     {seconds: 0.3}\n"
    (folder / "tiny.yaml").write_text(text.replace("  - compile: ", f"{finals}  - compile: "))
    return folder


def test_a_run_tells_what_it_tried_and_the_answers_are_right(call, with_finals):
    code, out, err = call("run", "tiny.yaml", "--json")
    assert code == 0, err
    report = json.loads(out)
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    assert report["verify"]["passed"]
    finals = report["finals"]
    nodes = {"conv1", "conv2", "pool", "classifier", "softmax"}
    assert {one["node"] for one in finals["tried"]} <= nodes
    assert finals["runs"] >= 2 or not finals["tried"]


def test_graph_tune_takes_the_seconds_as_an_option(call, with_finals):
    code, out, err = call("graph-tune", "tiny.yaml", "--finals", "0", "--json")
    assert code == 0, err
    assert "finals" not in json.loads(out)
    code, out, err = call("graph-tune", "tiny.yaml", "--finals", "0.1", "--json")
    assert code == 0, err
    jsonschema.validate(json.loads(out), json.loads(SCHEMA_FILE.read_text()))
    assert json.loads(out)["finals"]["seconds"] >= 0
