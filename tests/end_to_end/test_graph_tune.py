"""Layouts chosen over a network, through the command line and the real plugins."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from tilewright_pipeline.run.run_report import SCHEMA_FILE
from tilewright_records.store.store import JsonlRecordStore

HERE = ("--set", "records=r.jsonl")


@pytest.fixture
def tuned(call, folder):
    """`tiny.yaml` after graph-tune: run.json's member `graph`."""
    code, out, _ = call("graph-tune", "tiny.yaml", *HERE, "--json")
    assert code == 0
    return json.loads(out)["graph"]


def test_the_report_says_what_was_chosen_and_how_good_it_is(tuned, folder):
    report = json.loads((folder / "runs/tiny/run.json").read_text())
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    predicted = tuned["predicted_ms"]
    assert 0 < predicted["choice"] <= predicted["history_best"]
    assert tuned["cost_ms"] == pytest.approx(predicted["choice"]) or tuned["kept"] != "solver"
    assert tuned["transforms"] <= tuned["transforms_measured"]
    assert tuned["transforms_priced"] == 0


@pytest.mark.parametrize("tuner", ["dp", "pbqp", "exact", "greedy"])
def test_every_solver_can_be_chosen(call, folder, tuner):
    option = f"graph-tune.graph_tuner={tuner}"
    code, out, _ = call("graph-tune", "tiny.yaml", *HERE, "--set", option, "--json")
    assert code == 0
    assert json.loads(out)["graph"]["tuner"] == tuner


def test_a_glob_narrows_kernels_and_leaves_transforms_between_them(call, folder):
    derived = ("--set", "strategies=derived.x86/*", "--set", "graph-tune.graph_tuner=pbqp")
    for verb in ("graph-tune", "compile"):
        code, out, err = call(verb, "tiny.yaml", *HERE, *derived, "--json")
        assert code == 0, err
    assert json.loads(out)["compile"]["configs"]["graph choice"] == 5
    lines = [json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()]
    trials = [line for line in lines if line["kind"] == "trial"]
    is_transform = [line["workload"]["operator"] == "layout_transform" for line in trials]
    is_derived = [line["strategy"].startswith("derived.x86/") for line in trials]
    assert is_derived == [not transform for transform in is_transform]
    assert set(is_derived) == {True, False}


def test_run_again_it_adds_no_line(call, tuned, folder):
    known = (folder / "r.jsonl").read_bytes()
    code, out, _ = call("graph-tune", "tiny.yaml", *HERE, "--json")
    assert code == 0
    assert json.loads(out)["measurement"]["trials"] == 0
    assert (folder / "r.jsonl").read_bytes() == known


def test_a_network_has_one_line_a_kernel(tuned, folder):
    lines = [json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()]
    nodes = [line["node"] for line in lines if line["kind"] == "graph"]
    assert len(set(nodes)) == len(nodes) == 5  # two convolutions, pool, dense, softmax


def test_another_process_compiles_by_the_choices_and_says_how_many(tuned, folder):
    (folder / "compile.yaml").write_text(
        (folder / "tiny.yaml").read_text().replace("  - graph-tune: {graph_tuner: greedy}\n", "")
    )
    code = "from tilewright_cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "compile", "compile.yaml", *HERE],
        capture_output=True,
        text=True,
        check=True,
    )
    head, _, row = done.stdout[done.stdout.index("kernels  ") :].splitlines()[:3]
    words = [word.strip() for word in head.split("  ") if word.strip()]
    counts = dict(zip(words, map(int, row.split()), strict=True))
    assert counts["by graph choice"] == counts["kernels"] == 5
    assert counts["by history"] == counts["by fallback"] == 0


def test_the_picture_is_drawn_where_it_was_asked_for(call, folder):
    code, _, _ = call("graph-tune", "tiny.yaml", *HERE, "--svg", "here.svg")
    assert code == 0
    root = ET.parse(folder / "here.svg").getroot()
    panels = [g for g in root if g.get("class") == "panel"]
    assert len(panels) == 2
    code, _, _ = call("graph-tune", "tiny.yaml", *HERE, "--set", "graph-tune.svg=own.svg")
    assert code == 0
    assert (folder / "own.svg").exists()  # in the current folder, as all paths


def test_of_several_networks_each_has_a_report_and_a_picture_of_its_own(call, folder, make_model):
    for name in ("one", "two"):
        (folder / f"{name}.onnx").write_bytes(make_model())
    text = (folder / "tiny.yaml").read_text()
    (folder / "two.yaml").write_text(
        text.replace("model: tiny.onnx", "models: [one.onnx, two.onnx]")
    )
    code, out, _ = call("graph-tune", "two.yaml", *HERE, "--svg", "here.svg", "--json")
    assert code == 0
    report = json.loads(out)
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    files = {name: folder / "runs/tiny" / name / "run.json" for name in ("one", "two")}
    assert report["networks"] == {n: json.loads(f.read_text()) for n, f in files.items()}
    code, out, _ = call("explain", "two.yaml", *HERE, "classifier", "--json")
    assert [node["network"] for node in json.loads(out)["nodes"]] == ["one", "two"]
    assert {path.name for path in folder.rglob("*.svg")} == {"here-one.svg", "here-two.svg"}


def test_explain_names_node_layout_own_best_and_savings(call, tuned, folder):
    code, out, _ = call("explain", "tiny.yaml", *HERE, "--json", "classifier")
    assert code == 0
    (node,) = json.loads(out)["nodes"]
    assert node["name"] == "classifier"
    assert node["source"] == "graph choice"
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    pages = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    (shown,) = (told["nodes"] for told in pages if "nodes" in told)
    assert set(node) == set(shown[0])
    assert set(node["chosen"]) == set(node["own_best"]) == set(shown[0]["chosen"])
    for name in (node["name"], node["node"], node["task"], "dense_8_11x8"):
        code, out, _ = call("explain", "tiny.yaml", *HERE, name)
        assert code == 0
        assert out.startswith("classifier: dense(1x8, 11x8)\n")
        assert "\n  chosen    reads NC, makes NC: " in out
        assert "\n  own best  " in out
    assert call("explain", "tiny.yaml", *HERE)[0] == 0
    code, _, err = call("explain", "tiny.yaml", *HERE, "clasifier")
    assert code == 2
    assert "no node and no task is named 'clasifier'" in err
    assert "did you mean 'classifier'?" in err


def test_explain_creates_nothing_and_names_the_kernels_where_none_was_measured(call, folder):
    before = sorted(folder.rglob("*"))
    code, out, _ = call("explain", "tiny.yaml")
    assert (code, "nothing was measured; name a kernel" in out, "classifier" in out) == (0, 1, 1)
    assert sorted(folder.rglob("*")) == before


def test_nothing_of_the_records_is_lost(call, tuned, folder):
    assert call("records", "verify", "r.jsonl")[0] == 0
    store = JsonlRecordStore(folder / "r.jsonl")
    assert store.bad_lines == 0
