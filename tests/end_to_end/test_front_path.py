"""From a model file to run.json, through the command line and the real plugins."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import onnx
import onnx.external_data_helper
import pytest

import tilewright
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright_pipeline.run.run_report import SCHEMA_FILE
from tilewright_records.store.store import JsonlRecordStore


def test_a_model_file_becomes_a_tuned_checked_timed_network(call, folder):
    code, out, err = call("run", "tiny.yaml")
    assert code == 0
    for text in ("conv2d", "verification", "onnxruntime", "latency"):
        assert text in out
    assert "tune: ok" in err
    report = json.loads((folder / "runs/tiny/run.json").read_text())
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    assert [stage["status"] for stage in report["stages"]] == ["ok"] * 7
    assert report["measurement"]["trials"] >= 10
    assert report["measurement"]["failures"] == 0
    assert report["verify"]["passed"]
    assert report["verify"]["max_rel_error"] < 1e-5
    assert [entry["threads"] for entry in report["benchmark"]] == [1]
    assert all(task["best_seconds"] for task in report["tasks"])
    assert sum(task["weight"] for task in report["tasks"]) == len(report["tasks"])

    records = folder / "runs/tiny/records.jsonl"
    known = len(JsonlRecordStore(records).records())
    code, out, err = call("run", "tiny.yaml", "--json")
    again = json.loads(out)
    assert (code, err, again["measurement"]["trials"]) == (0, "", 0)
    assert len(JsonlRecordStore(records).records()) == known
    more = json.loads(call("run", "tiny.yaml", "--json", "--more", "3")[1])
    assert more["measurement"]["trials"] >= 3

    assert call("records", "verify", records)[0] == 0


@pytest.mark.parametrize("source", ["tiny.yaml", "tiny.onnx"])
@pytest.mark.parametrize(
    ("verb", "stage"),
    [
        (("compile",), "compile"),
        (("graph-tune",), "graph-tune"),
        (("bench", "network"), "benchmark"),
    ],
)
def test_a_stage_by_itself_runs_what_leads_to_it(call, folder, verb, stage, source):
    code, out, _ = call(*verb, source, "--out", "here", "--target", "x86:threads=1", "--json")
    assert code == 0
    stages = [entry["name"] for entry in json.loads(out)["stages"]]
    assert stages[:2] == ["import", "extract"]
    assert stages[-1] == stage
    assert not {"tune", "verify"} & set(stages)
    assert (folder / "here" / "run.json").exists()
    assert (folder / "here" / "network").exists() == ("compile" in stages)


def test_compile_gives_a_network_that_runs(folder):
    network = tilewright.compile(folder / "tiny.onnx", target="x86:threads=1", out=folder / "made")
    (answer,) = network.run({"x": np.ones((1, 8, 7, 7), np.float32)}).values()
    assert answer.shape == (1, 11)
    assert answer.sum() == pytest.approx(1, abs=1e-5)
    assert (folder / "made" / "network").is_dir()


def test_compile_and_explain_write_nothing_unless_told_to(folder):
    before = sorted(folder.rglob("*"))
    network = tilewright.compile("tiny.onnx", target="x86:threads=1")
    assert network.run(np.ones((1, 8, 7, 7), np.float32)).keys() == network.outputs.keys()
    kernel = tilewright.explain("tiny.onnx", "classifier", target="x86:threads=1")
    assert [told.node.name for told in kernel] == ["classifier"]
    assert "chosen" in str(kernel[0])
    with pytest.raises(
        UsageError, match="no node and no task is named 'clasifier'\n  did you mean"
    ):
        tilewright.explain("tiny.onnx", "clasifier", target="x86:threads=1")
    assert sorted(folder.rglob("*")) == before


def test_a_model_in_memory_and_its_bytes_are_as_good_as_its_file(folder):
    proto = onnx.load("tiny.onnx")
    image = np.random.default_rng(1).standard_normal((1, 8, 7, 7)).astype(np.float32)
    given = ("tiny.onnx", proto, proto.SerializeToString(), {"model": proto})
    answers = [tilewright.compile(one, target="x86:threads=1").run(image) for one in given]
    (first,), *others = (answer.values() for answer in answers)
    assert all(np.array_equal(first, *other) for other in others)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (object(), "no installed frontend reads models of the type 'object'"),
        (b"no model", "the model given: no ONNX model, or cut short"),
        (onnx.ModelProto(), "the model given: no ONNX model, or cut short: it has no nodes"),
        (5, "model: expected a text, got 5"),
    ],
)
def test_what_is_no_model_is_told(folder, model, message):
    with pytest.raises(UsageError, match=message):
        tilewright.compile(model, target="x86:threads=1")


def test_a_compiled_network_is_no_model_and_that_is_told(folder):
    made = tilewright.compile("tiny.onnx", target="x86:threads=1")
    for ask in (tilewright.explain, tilewright.compile):
        with pytest.raises(UsageError, match="is compiled already\n  give the model that it was"):
            ask(made, target="x86:threads=1")


def test_a_model_in_memory_brings_its_data(folder):
    proto = onnx.load("tiny.onnx")
    onnx.external_data_helper.convert_model_to_external_data(proto, size_threshold=0)
    with pytest.raises(UsageError, match="is in a file that was not loaded\n  give the path"):
        tilewright.compile(onnx.load_model_from_string(_unloaded(proto)), target="x86:threads=1")


def _unloaded(proto):
    for tensor in proto.graph.initializer:
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.ClearField("raw_data")
    return proto.SerializeToString()


def test_compile_of_a_network_of_its_file_and_of_import_options_compute_the_same(folder):
    host = PluginHost.load()
    network = host.make("frontend", "onnx", {}, host).read("tiny.onnx", {}, None)
    image = {"x": np.random.default_rng(1).standard_normal((1, 8, 7, 7)).astype(np.float32)}
    answers = [
        tilewright.compile(source, target="x86:threads=1", out=folder / name, host=host).run(image)
        for name, source in (
            ("a", network),
            ("b", folder / "tiny.onnx"),
            ("c", {"model": "tiny.onnx", "shapes": {"x": [1, 8, 7, 7]}}),
        )
    ]
    (first,), *others = (answer.values() for answer in answers)
    assert all(np.array_equal(first, *other) for other in others)
