"""DenseNets."""

from __future__ import annotations

from tilewright_graph.frontends.zoo.layers import Layers
from tilewright_graph.network.network import Network

_BLOCKS = {121: (6, 12, 24, 16), 201: (6, 12, 48, 32)}
"""By depth: layers of each block."""

_GROWTH, _BOTTLENECK = 32, 4


def densenet(depth: int, layers: Layers) -> Network:
    """Huang et al., "Densely Connected Convolutional Networks", 2016."""
    b = layers.builder
    x = layers.unit(layers.image(), 64, 7, 2)
    x = b.max_pool2d(x, pool_size=3, strides=2, padding=1)
    for block, count in enumerate(_BLOCKS[depth]):
        if block:
            x = layers.convolution(_bent(layers, x), b.specs[x].shape[1] // 2, 1)
            x = b.avg_pool2d(x, pool_size=2, strides=2)
        for _ in range(count):
            inner = layers.convolution(_bent(layers, x), _BOTTLENECK * _GROWTH, 1)
            inner = layers.convolution(_bent(layers, inner), _GROWTH, 3)
            x = b.concat(x, inner, axis=1)
    return layers.classified(b.global_avg_pool2d(_bent(layers, x)))


def _bent(layers: Layers, x: str) -> str:
    return layers.builder.relu(layers.norm(x))
