"""ResNet-18 with a projection in every first block."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright_graph.network.network import Network

if TYPE_CHECKING:
    from tilewright_graph.frontends.zoo.zoo_options import ZooOptions
    from tilewright_graph.network.builder import NetworkBuilder

_STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))
"""(channels, stride of the first block); two blocks each."""

_CLASSES = 1000


def resnet18(builder: NetworkBuilder, options: ZooOptions, seed: int) -> Network:
    """21 convolutions with batch norm, 12 of them distinct; the logits stay observed.

    He et al., "Deep Residual Learning for Image Recognition", 2015, in the variant whose first
    block of every stage projects its shortcut, also where the shape stays.
    """
    return _ResNet18(builder, np.random.default_rng(seed)).network(options)


class _ResNet18:
    def __init__(self, builder: NetworkBuilder, rng: np.random.Generator) -> None:
        self._b = builder
        self._rng = rng

    def network(self, options: ZooOptions) -> Network:
        b, size = self._b, options.size
        if options.layout == "NHWC":
            x = b.transpose(b.input("data", (options.batch, size, size, 3)), axes=[0, 3, 1, 2])
        else:
            x = b.input("data", (options.batch, 3, size, size))
        x = b.relu(self._convolution(x, 64, 7, 2))
        x = b.max_pool2d(x, pool_size=3, strides=2, padding=1)
        for channels, stride in _STAGES:
            x = self._block(x, self._convolution(x, channels, 1, stride), channels, stride)
            x = self._block(x, x, channels, 1)
        x = b.flatten(b.global_avg_pool2d(x))
        logits = b.add(b.dense(x, self._weights(_CLASSES, 512)), self._small(1, _CLASSES))
        return b.network([b.softmax(logits)], observed=[logits])

    def _block(self, x: str, shortcut: str, channels: int, stride: int) -> str:
        b = self._b
        inner = b.relu(self._convolution(x, channels, 3, stride))
        return b.relu(b.add(self._convolution(inner, channels, 3, 1), shortcut))

    def _convolution(self, x: str, channels: int, kernel: int, stride: int) -> str:
        """With its batch norm."""
        b, depth = self._b, self._b.specs[x].shape[1]
        weights = self._weights(channels, depth, kernel, kernel)
        x = b.conv2d(x, weights, strides=stride, padding=kernel // 2)
        gamma, variance = self._near_one(channels), self._near_one(channels)
        return b.batch_norm(x, gamma, self._small(channels), self._small(channels), variance)

    def _weights(self, *shape: int) -> Any:
        """Normal with variance 1 / fan-in: sums along the residual path stay small."""
        return self._rng.standard_normal(shape, np.float32) / np.float32(prod(shape[1:])) ** 0.5

    def _near_one(self, count: int) -> Any:
        return self._rng.uniform(0.8, 1.2, count).astype(np.float32)

    def _small(self, *shape: int) -> Any:
        return self._rng.standard_normal(shape, np.float32) * np.float32(0.1)
