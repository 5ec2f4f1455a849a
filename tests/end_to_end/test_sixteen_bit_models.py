"""Models whose own tensors are float16 or bfloat16 run as such, by hand-written strategies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import tilewright
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_pipeline.yaml.yaml_source import YamlSource
from tilewright_x86.machine.isa import available

DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
ROUNDING = any(isa.name == "avx512_bf16" for isa in available())
TARGET = {"kind": "x86", **({"isa": "avx512_bf16"} if ROUNDING else {})}
MOST_EPSILONS = 4


def written(dtype: str, path: Path) -> Path:
    """Convolutions plain, depthwise and grouped, pooling, a concat, a chain, a dense layer."""
    rng, made = np.random.default_rng(0), []

    def weights(name: str, *shape: int) -> str:
        scale = np.sqrt(np.prod(shape[1:], initial=1))
        array = (rng.standard_normal(shape) / scale).astype(DTYPES[dtype])
        made.append(numpy_helper.from_array(array, name))
        return name

    def conv(data: str, output: str, filters: int, channels: int, size: int, **more: Any) -> Any:
        operands = [data, weights(f"{output}_w", filters, channels, size, size)]
        operands.append(weights(f"{output}_b", filters))
        return helper.make_node("Conv", operands, [output], pads=[size // 2] * 4, **more)

    node = helper.make_node
    nodes = [
        conv("x", "stem", 16, 3, 3, strides=[2, 2]),
        node("Relu", ["stem"], ["active"]),
        node("MaxPool", ["active"], ["pooled"], kernel_shape=[2, 2], strides=[2, 2]),
        conv("pooled", "depthwise", 16, 1, 3, group=16),
        conv("depthwise", "single", 32, 16, 1),
        conv("pooled", "grouped", 32, 4, 3, group=4),
        node("Add", ["single", "grouped"], ["sum"]),
        node("Sigmoid", ["sum"], ["gate"]),
        node("Mul", ["sum", "gate"], ["gated"]),
        node("Concat", ["gated", "pooled"], ["joined"], axis=1),
        node("GlobalAveragePool", ["joined"], ["mean"]),
        node("Flatten", ["mean"], ["flat"]),
        node("Gemm", ["flat", weights("w", 10, 48), weights("b", 10)], ["y"], transB=1),
    ]
    code = helper.np_dtype_to_tensor_dtype(np.dtype(DTYPES[dtype]))
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", code, [1, 3, 21, 27])],
        [helper.make_tensor_value_info("y", code, [1, 10])],
        made,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_model_of_16_bits_is_tuned_compiled_verified_saved_and_run(
    tmp_path: Path, dtype: str
) -> None:
    model = written(dtype, tmp_path / "small.onnx")
    stages: list[Any] = [{"import": {"frontend": "onnx", "model": str(model)}}, {"extract": {}}]
    stages += [{"tune": {"budget": 30}}, {"graph-tune": {}}, {"compile": {}}]
    stages.append({"verify": {"oracle": "reference"}})
    file = {"version": 1, "name": "small", "target": TARGET, "stages": stages}
    pipeline = tilewright.Pipeline.load(YamlSource.parse(json.dumps(file), "small"))
    report = pipeline.run(out=tmp_path / "run").report
    assert report["verify"]["passed"]
    assert report["verify"]["max_rel_error"] < MOST_EPSILONS * ml_dtypes.finfo(DTYPES[dtype]).eps
    assert report["measurement"]["failures"] == 0

    network = CompiledNetwork.load(tmp_path / "run" / "network")
    assert network.precision == ("bfloat16" if dtype == "bfloat16" and ROUNDING else "float32")
    image = np.random.default_rng(1).standard_normal((1, 3, 21, 27)).astype(DTYPES[dtype])
    (answer,) = network.run({"x": image}).values()
    assert answer.dtype == DTYPES[dtype]
    assert np.isfinite(answer.astype(np.float32)).all()
