"""Perceptrons: small enough to try things on."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright_graph.frontends.zoo.layers import RELU_GAIN, Layers
from tilewright_graph.network.network import Network


def perceptron(widths: Sequence[int], layers: Layers) -> Network:
    """Dense layers from each width to the next, relu between them, and softmax.

    Of 784, 128, 64 and 10 it is `mlp` of TVM's relay.testing.
    """
    first, *inner, classes = widths
    x = layers.builder.input("data", (layers.batch, first))
    for width in inner:
        x = layers.builder.relu(layers.dense(x, width, RELU_GAIN))
    return layers.ended(layers.dense(x, classes))
