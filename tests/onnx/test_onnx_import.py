"""The stage `import`: one model or several, and the frontend that reads them."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import onnx
import pytest

from tilewright import Pipeline
from tilewright.errors import UsageError
from tilewright_graph.frontends.frontend import frontend_for
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network
from tilewright_graph.stages.import_stage import ImportOptions, ImportStage
from tilewright_onnx.reader import read_model
from tilewright_pipeline.run.run_report import SCHEMA_FILE
from tilewright_pipeline.yaml.yaml_source import YamlSource


@pytest.mark.parametrize(
    ("model", "name"),
    [("zoo:resnet-18", "zoo"), ("onnx-light:vgg19", "onnx"), ("folder/model.onnx", "onnx")],
)
def test_the_frontend_goes_by_the_models_text(model, name, host):
    assert frontend_for(model, host) == name


def test_a_model_that_nobody_reads_is_named_with_what_is_known(host):
    with pytest.raises(UsageError, match=r"model\.pb: no installed frontend .*\n.*\.onnx, onnx-li"):
        frontend_for("model.pb", host)


@pytest.mark.needs("x86")
@pytest.mark.parametrize("options", ["{}", "{model: a.onnx, models: [b.onnx]}", "{models: []}"])
def test_either_one_model_or_several_are_given(options):
    text = f"version: 1\nstages:\n  - import: {options}\n"
    with pytest.raises(UsageError, match=r"file:3:.*import: expected either `model` or `models`"):
        Pipeline.load(YamlSource.parse(text, "file"))


def test_one_model_is_a_network(x86):
    (network,) = ImportStage(ImportOptions(model="onnx-light:squeezenet"), x86).run({}).values
    assert isinstance(network, Network)


def test_two_models_of_one_name_are_refused(x86, make_model, tmp_path):
    model = make_model([onnx.helper.make_node("Relu", ["x"], ["y"])], {"x": (1, 3)})
    paths = [tmp_path / folder / "net.onnx" for folder in "ab"]
    for path in paths:
        path.parent.mkdir()
        onnx.save(model, path)
    options = ImportOptions(models=tuple(map(str, paths)))
    with pytest.raises(UsageError, match="2 models are named 'net'"):
        ImportStage(options, x86).run({})


def test_all_inputs_that_want_sizes_are_named_at_once(make_model):
    add = (
        onnx.helper.make_node("Add", ["x", "z"], ["s"]),
        onnx.helper.make_node("Add", ["s", "w"], ["y"]),
    )
    model = make_model(add, {"x": ("batch", 3), "w": (2, 3), "z": ("batch", 1)})
    with pytest.raises(UsageError, match=r"import.shapes={\"x\": \[1, 3\], \"z\": \[1, 1\]}'"):
        read_model(model, NetworkBuilder("model"), {})
    with pytest.raises(UsageError, match=r"import.shapes={\"z\": \[1, 1\]}'"):
        read_model(model, NetworkBuilder("model"), {"x": (2, 3)})


def test_shapes_name_inputs_of_any_of_the_models(x86, make_model, tmp_path):
    for model, name in (("a", "a"), ("b", "b"), ("c", "b")):
        node = onnx.helper.make_node("Relu", [name], ["y"])
        onnx.save(make_model([node], {name: ("batch", 3)}), tmp_path / f"{model}.onnx")
    models = ("zoo:resnet-18", *(str(tmp_path / f"{name}.onnx") for name in "abc"))

    def imported(shapes):
        return ImportStage(ImportOptions(models=models, shapes=shapes), x86).run({}).branches

    sizes = {"a": (2, 3), "b": (5, 3)}
    found = imported(sizes)
    assert {name: found[name][0].specs[name].shape for name in sizes} == sizes
    with pytest.raises(
        UsageError,
        match=r"shapes: no input is named 'dta'\n.*did you mean 'data'\? known: a, b, data$",
    ):
        imported({**sizes, "dta": (1, 3)})


NETWORKS = """
version: 1
name: networks
target: {kind: x86, threads: 2}
stages:
  - import:     {models: [%s, %s]}
  - extract:    {}
  - tune:       {tuner: random, budget: 4}
  - graph-tune: {}
  - compile:    {}
  - verify:     {oracle: onnxruntime}
"""


def saved(make_model, path, last):
    """A file with a convolution, a relu and one more operator."""
    weight = np.random.default_rng(1).standard_normal((8, 3, 3, 3)).astype(np.float32)
    nodes = [
        onnx.helper.make_node("Conv", ["x", "w"], ["c"]),
        onnx.helper.make_node("Relu", ["c"], ["r"]),
        onnx.helper.make_node(last, ["r"], ["y"]),
    ]
    onnx.save(make_model(nodes, {"x": (1, 3, 9, 7)}, {"w": weight}), path)
    return path


def test_networks_are_tuned_together_and_then_compiled_and_checked_on_their_own(
    x86, make_model, tmp_path
):
    first = saved(make_model, tmp_path / "first.onnx", "GlobalAveragePool")
    second = saved(make_model, tmp_path / "second.onnx", "Softmax")
    pipeline = Pipeline.load(YamlSource.parse(NETWORKS % (first, second), "networks.yaml"))
    result = pipeline.run(out=tmp_path / "out")
    assert result.exit_code == 0
    schema = json.loads(SCHEMA_FILE.read_text())
    reports = [
        json.loads((tmp_path / "out" / folder / "run.json").read_text())
        for folder in (".", "first", "second")
    ]
    for report in reports:
        jsonschema.validate(report, schema)
    whole, *parts = reports
    assert [stage["name"] for stage in whole["stages"]] == ["import", "extract", "tune"]
    assert [(task["operator"], task["weight"]) for task in whole["tasks"]] == [
        ("conv2d", 2), ("global_avg_pool2d", 1), ("softmax", 1),
    ]  # fmt: skip
    assert [len(part["tasks"]) for part in parts] == [2, 2]
    assert all(part["verify"]["passed"] for part in parts)
    assert all((tmp_path / "out" / part["name"] / "network").is_dir() for part in parts)
