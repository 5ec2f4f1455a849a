"""Models whose tensors no memory holds are refused at once, with one line each."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from tilewright.errors import UsageError
from tilewright_graph.builder import NetworkBuilder
from tilewright_onnx.reader import read_model

node = helper.make_node
HUGE = 2**28


@pytest.mark.parametrize(
    ("nodes", "inputs", "constants", "message"),
    [
        (
            [node("Pad", ["x", "p"], ["y"], mode="edge")],
            {"x": (1, 8)}, {"p": np.array([0, HUGE, 0, 0])}, "Pad by|elements",
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
        ([node("Relu", ["x"], ["y"])], {"x": (2**20, 2**20)}, {}, "at most|elements"),
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
