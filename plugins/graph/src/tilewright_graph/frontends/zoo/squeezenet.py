"""SqueezeNet 1.1."""

from __future__ import annotations

from tilewright_graph.frontends.zoo.layers import Layers
from tilewright_graph.network.network import Network

_FIRES = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
"""Channels after squeezing, and on each side of what follows; two fires pool before them."""

_POOLED = (0, 2, 4)


def squeezenet(layers: Layers) -> Network:
    """Iandola et al., "SqueezeNet", 2016, in its version 1.1."""
    b = layers.builder
    x = _bent(layers, layers.image(), 64, 3, stride=2, padding=0)
    for number, (squeezed, side) in enumerate(_FIRES):
        if number in _POOLED:
            x = b.max_pool2d(x, pool_size=3, strides=2, ceil_mode=True)
        x = _bent(layers, x, squeezed, 1)
        x = b.concat(_bent(layers, x, side, 1), _bent(layers, x, side, 3), axis=1)
    return layers.ended(b.flatten(b.global_avg_pool2d(_bent(layers, x, 1000, 1))))


def _bent(layers: Layers, x: str, channels: int, kernel: int, **more: int) -> str:
    """A convolution with a bias, and relu."""
    return layers.builder.relu(layers.convolution(x, channels, kernel, bias=True, **more))
