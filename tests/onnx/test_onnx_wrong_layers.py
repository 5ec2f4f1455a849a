"""ResNet-50 compiled for x86 once; the stage `verify` passes it, and fails for any one wrong layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tilewright.options import NoOptions
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.network.network import Network
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_onnx.reader import OnnxFrontend

CONVOLUTIONS, PADDED, RESIDUALS = 53, 17, 16

Spoil = Callable[[onnx.ModelProto], object]


@pytest.fixture(scope="module")
def network(host) -> Network:
    return OnnxFrontend(NoOptions(), host).read("onnx-light:resnet50", {}, 0)


@pytest.fixture(scope="module")
def compiled(network, compiled_on_x86) -> CompiledNetwork:
    return compiled_on_x86(network)


@pytest.fixture(scope="module")
def model(network) -> onnx.ModelProto:
    return onnx.load_model_from_string(network.source)


@pytest.fixture
def verified(network, compiled, model, verified_on_x86) -> Callable[[Spoil], bool]:
    """Whether `verify` passes the compiled network where the oracle runs a spoilt model."""

    def check(spoil: Spoil) -> bool:
        spoilt = onnx.ModelProto()
        spoilt.CopyFrom(model)
        spoil(spoilt)
        source = replace(network, source=spoilt.SerializeToString())
        return bool(verified_on_x86(compiled, source, 1e-4).ok)

    return check


def sampled(count: int, step: int) -> list[object]:
    """All by the marker `full`, every step-th otherwise."""
    return [
        pytest.param(index, marks=() if index % step == 0 else pytest.mark.full)
        for index in range(count)
    ]


def convolutions(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [node for node in model.graph.node if node.op_type == "Conv"]


def live_channel(model, conv, inputs, oracle) -> int:
    """The output channel of a convolution that puts most into what passes the next relu."""
    readers = {name: node for node in model.graph.node for name in node.input}
    made = tensor = conv.output[0]
    while readers[tensor].op_type != "Relu":
        tensor = readers[tensor].output[0]
    passes = readers[tensor].output[0]
    values = oracle.run(model.SerializeToString(), inputs, [made, passes])
    return int((np.abs(values[made]) * (values[passes] > 0)).sum((0, 2, 3)).argmax())


def test_the_right_model_passes(verified):
    assert verified(lambda model: None)


@pytest.mark.parametrize("index", sampled(CONVOLUTIONS, 13))
def test_one_live_channel_of_a_convolution_zeroed_fails(index, model, network, oracle, verified):
    conv = convolutions(model)[index]
    channel = live_channel(model, conv, random_inputs(network, 0), oracle)

    def zero(spoilt: onnx.ModelProto) -> None:
        tensor = next(t for t in spoilt.graph.initializer if t.name == conv.input[1])
        weight = numpy_helper.to_array(tensor).copy()
        weight[channel] = 0.0
        tensor.CopyFrom(numpy_helper.from_array(weight, tensor.name))

    assert not verified(zero)


@pytest.mark.parametrize("index", sampled(PADDED, 8))
def test_a_pad_that_is_off_by_one_fails(index, verified):
    def shift(spoilt: onnx.ModelProto) -> None:
        padded = [
            attribute
            for node in convolutions(spoilt)
            for attribute in node.attribute
            if attribute.name == "pads" and any(attribute.ints)
        ]
        assert len(padded) == PADDED
        top, left, bottom, right = padded[index].ints
        padded[index].ints[:] = [top - 1, left, bottom + 1, right]

    assert not verified(shift)


@pytest.mark.parametrize("index", sampled(RESIDUALS, 8))
def test_a_dropped_residual_fails(index, verified):
    def drop(spoilt: onnx.ModelProto) -> None:
        sums = [node for node in spoilt.graph.node if node.op_type == "Sum"]
        assert len(sums) == RESIDUALS
        del sums[index].input[1]

    assert not verified(drop)
