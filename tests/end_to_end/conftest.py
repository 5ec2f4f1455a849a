"""Small ONNX models, pipeline files over them, and the command line in this process."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

PIPELINE = """\
version: 1
name: tiny
target: {kind: x86, threads: 1}
measure: {repeat: 3, min_repeat_ms: 0}
stages:
  - import:     {model: tiny.onnx}
  - extract:    {}
  - tune:       {tuner: random, budget: 10}
  - graph-tune: {graph_tuner: greedy}
  - compile:    {}
  - verify:     {oracle: onnxruntime}
  - benchmark:  {peers: [onnxruntime], runs: 10}
"""


def model(operator="Relu", batch=1):
    """Bytes of a residual block with a classifier, its sizes no powers of two."""
    random = np.random.default_rng(0)

    def weight(name, *shape):
        values = random.standard_normal(shape).astype(np.float32)
        return numpy_helper.from_array(values / values[0].size ** 0.5, name)

    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["a"], "conv1", pads=[1] * 4),
        helper.make_node(operator, ["a"], ["r"], "act1"),
        helper.make_node("Conv", ["r", "w2"], ["c"], "conv2"),
        helper.make_node("Add", ["c", "x"], ["s"], "residual"),
        helper.make_node("GlobalAveragePool", ["s"], ["p"], "pool"),
        helper.make_node("Flatten", ["p"], ["f"], "flatten"),
        helper.make_node("Gemm", ["f", "w3"], ["l"], "classifier", transB=1),
        helper.make_node("Softmax", ["l"], ["y"], "softmax", axis=1),
    ]
    weights = [weight("w1", 16, 8, 3, 3), weight("w2", 8, 16, 1, 1), weight("w3", 11, 8)]
    weights.append(numpy_helper.from_array(random.standard_normal(16).astype(np.float32), "b1"))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (batch, 8, 7, 7))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    made = helper.make_model(
        helper.make_graph(nodes, "tiny", [x], [y], weights),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    return made.SerializeToString()


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Peaks of the machine are measured once for all tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def folder(tmp_path, cache, monkeypatch):
    """The current folder: `tiny.yaml` and the model that it names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    (tmp_path / "tiny.onnx").write_bytes(model())
    (tmp_path / "tiny.yaml").write_text(PIPELINE)
    return tmp_path


@pytest.fixture
def call(folder, capsys):
    """A function that runs a verb: (exit code, stdout, stderr)."""
    from tilewright_cli.terminal.group import run

    def invoke(*arguments):
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return invoke


@pytest.fixture(scope="session")
def make_model():
    return model
