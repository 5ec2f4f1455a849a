"""MobileNets: depthwise convolutions, each beside a 1x1."""

from __future__ import annotations

from tilewright_graph.frontends.zoo.layers import Layers
from tilewright_graph.network.network import Network

_V1 = (
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    *[(512, 1)] * 5,
    (1024, 2),
    (1024, 1),
)
"""(channels, stride) of each pair."""

_V2 = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""(expansion, channels, blocks, stride of the first)."""


def mobilenet(layers: Layers) -> Network:
    """Howard et al., "MobileNets", 2017, of full width."""
    b = layers.builder
    x = layers.unit(layers.image(), 32, 3, 2)
    for channels, stride in _V1:
        depth = b.specs[x].shape[1]
        x = layers.unit(x, depth, 3, stride, groups=depth)
        x = layers.unit(x, channels, 1)
    return layers.classified(b.global_avg_pool2d(x))


def mobilenet_v2(layers: Layers) -> Network:
    """Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018."""
    x = _unit6(layers, layers.image(), 32, 3, 2)
    for expansion, channels, blocks, stride in _V2:
        for block in range(blocks):
            x = _inverted(layers, x, expansion, channels, 1 if block else stride)
    x = _unit6(layers, x, 1280, 1)
    return layers.classified(layers.builder.global_avg_pool2d(x))


def _inverted(layers: Layers, x: str, expansion: int, channels: int, stride: int) -> str:
    """A block that is wide inside; its ends, which are added where they can be, are linear."""
    depth = layers.builder.specs[x].shape[1]
    wide = expansion * depth
    inner = _unit6(layers, x, wide, 1) if expansion > 1 else x
    inner = _unit6(layers, inner, wide, 3, stride, groups=wide)
    inner = layers.norm(layers.convolution(inner, channels, 1, gain=1))
    return layers.builder.add(inner, x) if stride == 1 and depth == channels else inner


def _unit6(layers: Layers, x: str, channels: int, *kernel: int, groups: int = 1) -> str:
    """A convolution of a kernel and a stride, its normalisation, and a relu that ends at 6."""
    x = layers.norm(layers.convolution(x, channels, *kernel, groups=groups))
    return layers.builder.clip(x, min=0.0, max=6.0)
