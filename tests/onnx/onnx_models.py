"""Small models, read and evaluated."""

from __future__ import annotations

import numpy as np
from onnx import helper

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_onnx.reader import read_model
from tilewright_tensor.operators.operators import builtin_operators

node = helper.make_node


def read(model, shapes=None):
    return read_model(model, NetworkBuilder("model"), shapes or {})


def evaluated(network):
    """The one output for an input of ones."""
    inputs = {name: np.ones(network.specs[name].shape, np.float32) for name in network.inputs}
    (answer,) = evaluate(network, inputs, builtin_operators()).values()
    return answer


def relu_model(make_model, shape=(1, 3)):
    return make_model([node("Relu", ["x"], ["y"], name="first")], {"x": shape})
