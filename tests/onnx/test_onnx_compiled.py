"""Networks of operators that become several, compiled for x86 and verified against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_onnx.reader import read_model

node = helper.make_node
RNG = np.random.default_rng(8)


def array(*shape: int) -> np.ndarray:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


GENERATOR = (
    [
        node("ConvTranspose", ["x", "w", "b"], ["up"], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("InstanceNormalization", ["up", "s", "b"], ["normal"]),
        node("Resize", ["normal", "", "scales"], ["wide"], mode="linear"),
        node("Pad", ["wide", "margins"], ["padded"], mode="reflect"),
        node("MaxPool", ["padded"], ["y"], kernel_shape=[3, 3]),
    ],
    {"x": (1, 3, 5, 4)},
    {
        "w": array(3, 6, 4, 4),
        "b": array(6),
        "s": array(6),
        "scales": np.float32([1, 1, 2, 2]),
        "margins": np.array([0, 0, 1, 1, 0, 0, 1, 1]),
    },
)
MASKED = (
    [
        node("Less", ["x", "zero"], ["masked"]),
        node("Where", ["masked", "low", "x"], ["scores"]),
        node("Softmax", ["scores"], ["shares"], axis=-1),
        node("Einsum", ["shares", "z"], ["sums"], equation="bij,bjd->bid"),
        node("LSTM", ["sums", "W", "R"], ["states"], hidden_size=4),
        node("ArgMax", ["states"], ["places"], axis=-1),
        node("Cast", ["places"], ["numbers"], to=TensorProto.FLOAT),
        node("Add", ["states", "numbers"], ["y"]),
    ],
    {"x": (2, 3, 5), "z": (2, 5, 7)},
    {"zero": np.float32(0), "low": np.float32(-1e4), "W": array(1, 16, 7), "R": array(1, 16, 4)},
)


SELECTED = (
    [
        node("Resize", ["x", "", "", "sizes"], ["wide"], mode="cubic"),
        node("GridSample", ["wide", "grid"], ["samples"], padding_mode="reflection"),
        node("Reshape", ["samples", "lines"], ["flat"]),
        node("TopK", ["flat", "k"], ["largest", "places"], axis=1),
        node("Unsqueeze", ["places", "last"], ["indices"]),
        node("GatherND", ["flat", "indices"], ["again"], batch_dims=1),
        node("Cast", ["places"], ["numbers"], to=TensorProto.FLOAT),
        node("Sum", ["largest", "again", "numbers"], ["y"]),
    ],
    {"x": (1, 3, 5, 4), "grid": (1, 5, 7, 2)},
    {
        "sizes": np.array([1, 3, 7, 9]),
        "lines": np.array([3, 35]),
        "k": np.array([11]),
        "last": np.array([2]),
    },
)


@pytest.mark.parametrize(
    "case", [GENERATOR, MASKED, SELECTED], ids=["generator", "masked", "selected"]
)
def test_what_becomes_several_operators_compiles(
    case, make_model, compiled_on_x86, verified_on_x86
):
    network = read_model(make_model(*case, opset=16), NetworkBuilder("model"), {})
    assert verified_on_x86(compiled_on_x86(network), network, 1e-4).ok


def test_an_embedding_compiles(make_model, compiled_on_x86, oracle):
    model = make_model([node("Gather", ["table", "ids"], ["y"])], {}, {"table": array(7, 3)})
    model.graph.input.append(helper.make_tensor_value_info("ids", TensorProto.INT64, (2, 4)))
    network = read_model(model, NetworkBuilder("model"), {})
    ids = np.array([[0, 6, -1, 3], [-7, 2, 2, 5]])
    (expected,) = oracle.run(network.source, {"ids": ids}, ()).values()
    (found,) = compiled_on_x86(network).run({"ids": ids}).values()
    np.testing.assert_array_equal(found, expected)
