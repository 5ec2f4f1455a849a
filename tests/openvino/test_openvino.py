"""OpenVINO as oracle and peer: it answers as ONNX Runtime does, in the precision asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from pydantic import ValidationError

from tilewright.errors import UsageError
from tilewright.options import NoOptions
from tilewright_cli.terminal.group import run
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_onnx.runtime.runtime import OnnxRuntime
from tilewright_openvino.runtime import OpenVinoOptions, OpenVinoRuntime


def model(*, rows: str | int = 5) -> bytes:
    """relu(x @ w), then its sums by row; x [rows, 300]."""
    rng = np.random.default_rng(3)
    weights = rng.standard_normal((300, 7)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["product"]),
            helper.make_node("Relu", ["product"], ["positive"]),
            helper.make_node("ReduceSum", ["positive"], ["y"], keepdims=0),
        ],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 300])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(made.SerializeToString())


@pytest.fixture
def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(4)
    return {"x": rng.standard_normal((5, 300)).astype(np.float32)}


def test_models_of_bfloat16_are_asked_and_answer_in_bfloat16() -> None:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.BFLOAT16, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.BFLOAT16, [2, 3])],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)
    x = np.array([[-1, 0, 2.5], [3e38, -4, 1e-3]]).astype(ml_dtypes.bfloat16)
    source = bytes(made.SerializeToString())
    expected = np.maximum(x.astype(np.float32), 0)
    np.testing.assert_array_equal(oracle().run(source, {"x": x}, ())["y"], expected)
    assert oracle().time(source, {"x": x}, 1)() > 0


def oracle(**options: Any) -> OpenVinoRuntime:
    return OpenVinoRuntime(OpenVinoOptions(**options), None)


@pytest.mark.parametrize("rows", [5, "n"])
def test_it_answers_as_onnx_runtime_does_inner_tensors_included(
    rows: str | int, inputs: dict[str, Any]
) -> None:
    source = model(rows=rows)
    expected = OnnxRuntime(NoOptions(), None).run(source, inputs, ("product",))
    found = oracle(precision="float32").run(source, inputs, ("product",))
    assert found.keys() == expected.keys() == {"y", "product"}
    for name, answer in expected.items():
        np.testing.assert_allclose(found[name], answer, rtol=1e-4, atol=1e-4)


def test_bfloat16_is_taken_where_it_is_asked_for(inputs: dict[str, Any]) -> None:
    exact = oracle(precision="float32").run(model(), inputs, ("product",))["product"]
    rounded = oracle(precision="bfloat16").run(model(), inputs, ("product",))["product"]
    error = np.abs(rounded - exact).max() / np.abs(exact).max()
    assert error < 2e-2


def test_it_is_a_peer(inputs: dict[str, Any]) -> None:
    once = oracle().time(model(), inputs, 1)
    assert all(0 < once() < 60 for _ in range(3))


def test_what_is_no_onnx_file_is_refused_in_a_line(inputs: dict[str, Any]) -> None:
    builder = NetworkBuilder("net")
    network = builder.network([builder.relu(builder.input("x", (5, 300)))])
    with pytest.raises(UsageError, match="reads ONNX files") as built:
        oracle().run(network, inputs, ())
    with pytest.raises(UsageError, match="refuses the model") as torn:
        oracle().run(model()[:-40], inputs, ())
    with pytest.raises(UsageError, match="refuses the model") as unknown:
        oracle().run(model(), inputs, ("no such tensor",))
    for one in (built, torn, unknown):
        assert len(str(one.value).splitlines()) == 2  # what is wrong, and the remedy


def test_a_network_made_in_python_is_written_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = ["verify.oracle.openvino.precision=float32", "benchmark.runs=3"]
    asked = [part for one in settings for part in ("--set", one)]
    asked += ["--set", "benchmark.peers=[openvino]", "--set", "tune.budget=1"]
    assert run(["run", "zoo:perceptron", *asked, "--json"]) == 0, capsys.readouterr().err
    report = json.loads(capsys.readouterr().out)
    assert report["verify"]["oracle"] == "openvino"
    assert report["verify"]["passed"]
    assert report["benchmark"][0]["peers"]["openvino"]["runs"] == 3


PIPELINE = """\
version: 1
target: {kind: x86, threads: 1}
stages:
  - import:    {frontend: onnx, model: model.onnx}
  - extract:   {}
  - compile:   {}
  - verify:    {oracle: {openvino: {precision: float32}}}
  - benchmark: {peers: [{openvino: {precision: float32}}], runs: 3}
"""


def test_a_pipeline_names_it_with_its_precision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.onnx").write_bytes(model())
    Path("run.yaml").write_text(PIPELINE)
    assert run(["run", "run.yaml", "--json"]) == 0, capsys.readouterr().err
    report = json.loads(capsys.readouterr().out)
    assert report["verify"]["oracle"] == "openvino"
    assert report["verify"]["passed"]
    (row,) = report["benchmark"]
    assert row["peers"]["openvino"]["runs"] == 3
    assert row["peers"]["openvino"]["precision"] == row["tilewright"]["precision"] == "float32"


def test_an_unknown_precision_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValidationError, match="'default', 'float32', 'bfloat16' or 'float16'"):
        oracle(precision="float64")
