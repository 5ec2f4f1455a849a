"""Resize and Upsample against ONNX Runtime: modes, coordinates, roundings, factors and sizes."""

from __future__ import annotations

from itertools import product

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tilewright.errors import UsageError
from tilewright.options import NoOptions
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_onnx.reader import OnnxFrontend, read_model
from tilewright_tensor.operators.operators import builtin_operators


@pytest.fixture
def resized(make_model):
    """A model of one Resize of [1, 2, 5, 7], by sizes or by factors of all axes."""

    def make(sizes=(), scales=(), opset=13, **attributes):
        constants = {"roi": np.float32([]), "scales": np.float32(scales)}
        names = ["x", "roi", "scales"]
        if sizes:
            constants["sizes"] = np.array(sizes)
            names = ["x", "", "", "sizes"]
        node = helper.make_node("Resize", names, ["y"], name="resize", **attributes)
        return make_model([node], {"x": (1, 2, 5, 7)}, constants, opset=opset)

    return make


@pytest.mark.parametrize("sizes", [(1, 2, 10, 21), (1, 2, 3, 4), (1, 2, 8, 2)])
@pytest.mark.parametrize(
    ("coordinates", "rounding"),
    list(
        product(
            ["asymmetric", "half_pixel", "align_corners"],
            ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"],
        )
    ),
)
def test_the_nearest_element_is_the_one_of_onnx_runtime(
    coordinates, rounding, sizes, resized, assert_agrees
):
    attributes = {"coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
    assert_agrees(resized(sizes, **attributes))


@pytest.mark.parametrize("sizes", [(1, 2, 10, 21), (1, 2, 3, 4), (1, 2, 8, 1), (1, 2, 5, 13)])
@pytest.mark.parametrize(
    "coordinates", ["asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel"]
)
def test_between_two_elements_it_is_linear(coordinates, sizes, resized, assert_agrees):
    assert_agrees(resized(sizes, mode="linear", coordinate_transformation_mode=coordinates))


@pytest.mark.parametrize("sizes", [(1, 2, 10, 21), (1, 2, 3, 4), (1, 2, 5, 13)])
@pytest.mark.parametrize(
    "coordinates", ["asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel"]
)
def test_among_four_elements_it_is_cubic(coordinates, sizes, resized, assert_agrees):
    attributes = {"mode": "cubic", "coordinate_transformation_mode": coordinates}
    assert_agrees(resized(sizes, **attributes))
    assert_agrees(resized(sizes, cubic_coeff_a=-0.5, **attributes))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_factors_may_be_given_for_sizes(mode, resized, assert_agrees):
    assert_agrees(resized(scales=[1, 1, 2, 3], mode=mode))
    assert_agrees(resized(scales=[1, 1, 0.8, 10 / 7], mode=mode))


def test_sizes_may_be_of_some_axes(resized, assert_agrees):
    assert_agrees(resized([3, 9], opset=18, axes=[-1, 2]))


@pytest.mark.parametrize(("kind", "opset"), [("Upsample", 9), ("Resize", 10)])
def test_old_opsets_have_factors_only(kind, opset, make_model, assert_agrees):
    node = helper.make_node(kind, ["x", "scales"], ["y"], mode="nearest")
    scales = {"scales": np.float32([1, 1, 2, 3])}
    assert_agrees(make_model([node], {"x": (1, 2, 3, 4)}, scales, opset=opset))


@pytest.mark.parametrize("factors", [(1, 1, 0.6, 0.5), (1, 1, 0.6, 2), (1, 1, 3, 0.4)])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_an_old_opset_rounds_up_along_axes_that_shrink(mode, factors, make_model, assert_agrees):
    node = helper.make_node("Resize", ["x", "scales"], ["y"], mode=mode)
    scales = {"scales": np.float32(factors)}
    assert_agrees(make_model([node], {"x": (1, 2, 5, 10)}, scales, opset=10))


def test_the_oldest_factors_are_an_attribute(make_model, assert_agrees):
    node = helper.make_node("Upsample", ["x"], ["y"], mode="linear", scales=[1.0, 1.0, 2.0, 2.0])
    assert_agrees(make_model([node], {"x": (1, 2, 3, 4)}, opset=7))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"sizes": (1, 2, 9, 9), "coordinate_transformation_mode": "tf_crop_and_resize"},
            "mode 'nearest' and coordinates 'tf_crop_and_resize'; exp",
        ),
        ({"sizes": (1, 2, 9, 9), "mode": "cubic", "exclude_outside": 1}, "with exclude_outside"),
        ({"sizes": (1, 2, 3, 3), "mode": "linear", "antialias": 1, "opset": 18}, "with antialias"),
        ({"scales": (1, 1, 1.5, 1)}, "Resize of 5 elements by 1.5, which is no whole number"),
    ],
)
def test_what_is_not_read_of_a_resize_is_named(options, problem, resized):
    with pytest.raises(UsageError, match=f"model: node 'resize': .*{problem}"):
        read_model(resized(**options), NetworkBuilder("model"), {})


def test_random_weights_leave_the_factors_alone(resized, host, tmp_path):
    onnx.save(resized(scales=[1, 1, 2, 3]), tmp_path / "model.onnx")
    network = OnnxFrontend(NoOptions(), host).read(str(tmp_path / "model.onnx"), {}, 0)
    assert network.specs["y"].shape == (1, 2, 10, 21)


@pytest.mark.parametrize("align_corners", [0, 1])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(
    ("mode", "shape"),
    [
        ("nearest", (2, 3, 5, 7)),
        ("linear", (2, 3, 5, 7)),
        ("cubic", (2, 3, 5, 7)),
        ("linear", (1, 2, 1, 3)),
        ("linear", (1, 2, 4, 5, 3)),
        ("nearest", (1, 2, 4, 5, 3)),
    ],
)
def test_samples_on_a_grid_that_reaches_beyond_the_image_are_those_of_onnx_runtime(
    mode, shape, padding_mode, align_corners, make_model, assert_agrees
):
    attributes = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
    node = helper.make_node("GridSample", ["x", "grid"], ["y"], **attributes)
    grid = (shape[0], *range(3, 3 + len(shape) - 2), len(shape) - 2)
    assert_agrees(make_model([node], {"x": shape, "grid": grid}, opset=20))


def test_samples_of_opset_16_have_other_names_for_modes(make_model, assert_agrees):
    node = helper.make_node("GridSample", ["x", "grid"], ["y"], mode="bicubic")
    assert_agrees(make_model([node], {"x": (1, 2, 5, 7), "grid": (1, 3, 4, 2)}, opset=16))


def test_a_grid_is_as_exact_as_it_is_given(make_model, compiled_on_x86):
    """Half precision would name other elements of a long row."""
    node = helper.make_node("GridSample", ["x", "grid"], ["y"], mode="nearest")
    model = make_model([node], {"x": (1, 1, 1, 2000), "grid": (1, 1, 300, 2)}, opset=20)
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT16
    network = read_model(model, NetworkBuilder("model"), {})
    row = np.arange(2000, dtype=np.float16).reshape(1, 1, 1, 2000)
    grid = np.zeros((1, 1, 300, 2), np.float32)
    grid[..., 0] = np.random.default_rng(4).uniform(-0.99, 0.99, (1, 1, 300))
    expected = np.round((grid[..., 0].astype(np.float64) + 1) * 1000 - 0.5)
    inputs = {"x": row, "grid": grid}
    for answers in (
        evaluate(network, inputs, builtin_operators()),
        compiled_on_x86(network).run(inputs),
    ):
        np.testing.assert_array_equal(answers["y"][:, 0], expected)
