"""Our operators mean what ONNX Runtime means by the same names; its rules for pooling are the fussy ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from tilewright.vocabulary.workload import Workload
from tilewright_tensor.operators.reference import OperatorReference

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

POOL = {"kernel_shape": [3, 3], "strides": [2, 2]}
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("conv2d(1x4x9x7, 6x2x3x2, strides=[2, 1], padding=[1, 0, 0, 1], dilation=[1, 2], groups=2)", "Conv",
     {"strides": [2, 1], "pads": [1, 0, 0, 1], "dilations": [1, 2], "group": 2}),
    ("conv1d(2x3x11, 5x3x4, strides=2, padding=[1, 2])", "Conv", {"strides": [2], "pads": [1, 2]}),
    ("matmul(2x1x3x4, 5x4x2)", "MatMul", {}),
    ("dense(3x7, 5x7)", "Gemm", {"transB": 1}),
    *(
        (
            f"max_pool2d(1x2x{height}x{width}, pool_size=3, strides=2, padding={list(pads)}, ceil_mode={ceil})",
            "MaxPool",
            {**POOL, "pads": list(pads), "ceil_mode": int(ceil)},
        )
        for height, width in [(7, 8), (9, 6), (5, 5)]
        for pads in [(0, 0, 0, 0), (1, 1, 1, 1), (0, 1, 1, 2)]
        for ceil in (False, True)
    ),
    *(
        (
            (
                f"avg_pool2d(1x2x{height}x{width}, pool_size=3, strides=2, padding={list(pads)}, "
                f"ceil_mode={ceil}, count_include_pad={include})"
            ),
            "AveragePool",
            {**POOL, "pads": list(pads), "ceil_mode": int(ceil), "count_include_pad": int(include)},
        )
        for height, width in [(7, 8), (9, 6), (5, 5)]
        for pads in [(0, 0, 0, 0), (1, 1, 1, 1), (0, 1, 1, 2)]
        for ceil in (False, True)
        for include in (False, True)
    ),
    ("global_avg_pool2d(2x3x5x7)", "GlobalAveragePool", {}),
    ("softmax(2x3x5, axis=1)", "Softmax", {"axis": 1}),
    ("layer_norm(2x3x5, 5, 5)", "LayerNormalization", {"axis": -1, "epsilon": 1e-5}),
    ("batch_norm(2x3x4x5, 3, 3, 3, 3)", "BatchNormalization", {"epsilon": 1e-5}),
    ("lrn(1x7x3x2, size=5, alpha=0.3)", "LRN", {"size": 5, "alpha": 0.3}),
    ("lrn(1x7x3x2, size=3)", "LRN", {"size": 3}),
    ("hard_sigmoid(3x5)", "HardSigmoid", {}),
    ("hard_swish(3x5)", "HardSwish", {}),
    ("leaky_relu(3x5)", "LeakyRelu", {}),
    ("gelu(3x5)", "Gelu", {}),
    ("gelu_tanh(3x5)", "Gelu", {"approximate": "tanh"}),
    ("mish(3x5)", "Mish", {}),
    ("erf(3x5)", "Erf", {}),
    ("sigmoid(3x5)", "Sigmoid", {}),
    ("prelu(2x3x5x2, 1x3x1x1)", "PRelu", {}),
    ("power(3x5, 3x5)", "Pow", {}),
    ("concat(2x3, 2x5, axis=-1)", "Concat", {"axis": -1}),
    ("flatten(2x3x5, axis=-1)", "Flatten", {"axis": -1}),
    ("transpose(2x3x5)", "Transpose", {}),
]  # fmt: skip


def _onnxruntime(operator: str, attributes: Mapping[str, Any], inputs: list[Any]) -> Any:
    helper, names = onnx.helper, [f"x{i}" for i in range(len(inputs))]
    graph = helper.make_graph(
        [helper.make_node(operator, names, ["y"], **attributes)],
        "one",
        [
            helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, array.shape)
            for name, array in zip(names, inputs, strict=True)
        ],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, dict(zip(names, inputs, strict=True)))[0]


@pytest.mark.parametrize(("text", "operator", "attributes"), CASES, ids=[case[0] for case in CASES])
def test_reference_agrees_with_onnxruntime(
    text: str,
    operator: str,
    attributes: dict[str, Any],
    workload: Callable[[str], Workload],
    references: Mapping[str, OperatorReference],
) -> None:
    task = workload(text)
    reference = references[task.operator]
    inputs = reference.inputs(task, seed=2)
    (ours,) = reference.outputs(task, inputs)
    theirs = _onnxruntime(operator, attributes, inputs)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
