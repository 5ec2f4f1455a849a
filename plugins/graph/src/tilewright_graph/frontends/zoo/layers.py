"""What networks of the zoo are made of: layers with random weights."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tilewright_graph.frontends.zoo.zoo_options import ZooOptions
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network

RELU_GAIN = 2.0
"""Variance of weights times what they sum over: it keeps the signal's size through a relu.

He et al., "Delving Deep into Rectifiers", 2015.
"""


class Layers:
    """Layers of a network that is being built; tensors are their names, as in the builder.

    batch  images, or texts
    size   height and width of an image
    """

    def __init__(self, builder: NetworkBuilder, options: ZooOptions, size: int, seed: int) -> None:
        self.builder = builder
        self.batch = options.batch
        self.size = size
        self.sequence = options.sequence
        self._channels_last = options.layout == "NHWC"
        self._rng = np.random.default_rng(seed)

    def image(self, *frames: int) -> str:
        """The input: colours first whatever the options say, `frames` before height and width."""
        extents, b = (*frames, self.size, self.size), self.builder
        if not self._channels_last:
            return b.input("data", (self.batch, 3, *extents))
        rank = 2 + len(extents)
        data = b.input("data", (self.batch, *extents, 3))
        return b.transpose(data, axes=[0, rank - 1, *range(1, rank - 1)])

    def convolution(
        self,
        x: str,
        channels: int,
        kernel: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        *,
        padding: int | Sequence[int] | None = None,
        groups: int = 1,
        gain: float = RELU_GAIN,
        bias: bool = False,
    ) -> str:
        """Over two or three axes; with as much padding as keeps the size, unless it is given."""
        b, (_, depth, *extents) = self.builder, self.builder.specs[x].shape
        kernel = [kernel] * len(extents) if isinstance(kernel, int) else list(kernel)
        padding = [k // 2 for k in kernel] if padding is None else padding
        fan_in = depth // groups * prod(kernel)
        weights = self.normal((channels, depth // groups, *kernel), (gain / fan_in) ** 0.5)
        attributes = {"strides": stride, "padding": padding, "groups": groups}
        x = b.apply(
            f"conv{len(extents)}d",
            [x, b.constant(weights, "weight")],
            attributes,
        )
        return b.add(x, self.normal((1, channels, *[1] * len(extents)), 0.1)) if bias else x

    def norm(self, x: str, epsilon: float = 1e-5) -> str:
        """Batch normalisation by statistics near those of what is normal already."""
        channels = self.builder.specs[x].shape[1]
        gamma, variance = (self._near_one(channels) for _ in range(2))
        beta, mean = (self.normal((channels,), 0.1) for _ in range(2))
        return self.builder.batch_norm(x, gamma, beta, mean, variance, epsilon=epsilon)

    def unit(
        self,
        x: str,
        channels: int,
        kernel: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        **more: Any,
    ) -> str:
        """A convolution, its batch normalisation and relu; further arguments are its own."""
        return self.builder.relu(self.norm(self.convolution(x, channels, kernel, stride, **more)))

    def dense(self, x: str, width: int, gain: float = 1.0) -> str:
        """With a bias; over the last axis, whatever the rank."""
        b, shape = self.builder, self.builder.specs[x].shape
        deviation, rows = (gain / shape[-1]) ** 0.5, len(shape) == 2
        weights = self.normal((width, shape[-1]) if rows else (shape[-1], width), deviation)
        product = b.dense(x, weights) if rows else b.matmul(x, weights)
        return b.add(product, self.normal((*[1] * (len(shape) - 1), width), 0.1))

    def layer_norm(self, x: str, epsilon: float) -> str:
        """Over the last axis."""
        width = self.builder.specs[x].shape[-1]
        scale, shift = self._near_one(width), self.normal((width,), 0.1)
        return self.builder.layer_norm(x, scale, shift, epsilon=epsilon)

    def classified(self, features: str, classes: int = 1000) -> Network:
        """The network that ends with a layer of so many classes; its logits stay observed."""
        return self.ended(self.dense(self.builder.flatten(features), classes))

    def ended(self, logits: str) -> Network:
        """The network that ends with softmax over logits, which stay observed."""
        return self.builder.network([self.builder.softmax(logits)], observed=[logits])

    def normal(self, shape: Sequence[int], deviation: float) -> Any:
        """Random weights; float32."""
        return self._rng.standard_normal(shape, np.float32) * np.float32(deviation)

    def _near_one(self, count: int) -> Any:
        return self._rng.uniform(0.8, 1.2, count).astype(np.float32)
