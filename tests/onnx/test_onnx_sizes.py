"""Models whose tensors no memory holds are refused at once, with one line each."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from tilewright.errors import UsageError
from tilewright.sizes import MOST_ELEMENTS
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_onnx.reader import read_model

node = helper.make_node
HUGE = 2**28


@pytest.mark.parametrize(
    ("nodes", "inputs", "constants", "message"),
    [
        (
            [node("Pad", ["x", "p"], ["y"], mode="edge")],
            {"x": (1, 8)}, {"p": np.array([0, HUGE, 0, 0])}, "Pad needs a constant",
        ),
        (
            [node("Pad", ["x", "p"], ["y"])],
            {"x": (1, 8)}, {"p": np.array([0, HUGE, 0, 0])}, "at most 16777216|elements",
        ),
        (
            [node("Conv", ["x", "w"], ["y"], pads=[2**31 - 1] * 4)],
            {"x": (1, 1, 4, 4)}, {"w": np.ones((1, 1, 3, 3), np.float32)}, "at most 16777216|elements",
        ),
        (
            [node("Conv", ["x", "w"], ["y"], pads=[2**20] * 4)],
            {"x": (1, 1, 4, 4)}, {"w": np.ones((1, 1, 3, 3), np.float32)}, "elements",
        ),
        (
            [node("Expand", ["x", "s"], ["y"])],
            {"x": (1, 1)}, {"s": np.array([2**31, 2**31])}, "elements",
        ),
        (
            [node("Tile", ["x", "r"], ["y"])],
            {"x": (4, 4)}, {"r": np.array([2**20, 2**20])}, "elements",
        ),
        (
            [node("Relu", ["x"], ["y"])],
            {"x": (2**15 + 1, 2**15)}, {}, f"at most {MOST_ELEMENTS}",
        ),
        (
            [node("CumSum", ["x", "a"], ["y"])],
            {"x": (2**15,)}, {"a": np.array(0)}, r"CumSum needs a constant of shape \[32768, 32768\]",
        ),
        ([node("Hardmax", ["x"], ["y"], axis=1)], {"x": (1, HUGE)}, {}, "needs a constant"),
        (
            [node("Equal", ["x", "h"], ["e"]), node("Cast", ["e"], ["i"], to=TensorProto.INT32),
             node("OneHot", ["i", "d", "v"], ["y"])],
            {"x": (1,)},
            {"h": np.float32([0]), "d": np.array(HUGE), "v": np.float32([0, 1])}, "needs a constant",
        ),
        (
            [node("Pad", ["x", "p", "v"], ["y"])],
            {"x": (2**15, 2**14)}, {"p": np.zeros(4, np.int64), "v": np.float32(np.inf)},
            "needs a constant",
        ),
    ],
)  # fmt: skip
def test_what_no_memory_holds_is_refused_when_it_is_read(
    nodes, inputs, constants, message, make_model
):
    with pytest.raises(UsageError, match=message):
        read_model(make_model(nodes, inputs, constants), NetworkBuilder("model"), {})


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
@pytest.mark.parametrize("extent", [1, 2, 5])
def test_margins_may_be_many_times_as_wide_as_the_data(mode, extent, make_model, compiled_on_x86):
    margins = [0, 37, 0, 11]
    model = make_model(
        [node("Pad", ["x", "p"], ["y"], mode=mode)],
        {"x": (2, extent)}, {"p": np.array(margins)}, opset=19,
    )  # fmt: skip
    network = read_model(model, NetworkBuilder("model"), {})
    x = np.random.default_rng(0).uniform(-1, 1, (2, extent)).astype(np.float32)
    (found,) = compiled_on_x86(network).run({"x": x}).values()
    np.testing.assert_array_equal(found, np.pad(x, ((0, 0), (37, 11)), mode))


def test_what_many_nodes_make_is_bounded_together(make_model, monkeypatch):
    monkeypatch.setattr("tilewright_onnx.model.reading_budget._FREE_BYTES", 2**16)
    pads = [node("Pad", ["x", "p"], [f"y{i}"], mode="edge") for i in range(8)]
    model = make_model(
        [*pads, node("Sum", [f"y{i}" for i in range(8)], ["y"])],
        {"x": (1, 8)}, {"p": np.array([0, 2**11, 0, 0])}, opset=19,
    )  # fmt: skip
    with pytest.raises(UsageError, match="Pad needs a constant"):
        read_model(model, NetworkBuilder("model"), {})
