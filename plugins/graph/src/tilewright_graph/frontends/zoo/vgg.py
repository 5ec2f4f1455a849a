"""VGG."""

from __future__ import annotations

from tilewright_graph.frontends.zoo.layers import RELU_GAIN, Layers
from tilewright_graph.network.network import Network

_STAGES = {16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
"""By depth: convolutions of each stage."""

_CHANNELS = (64, 128, 256, 512, 512)


def vgg(depth: int, layers: Layers, *, is_normalised: bool = False) -> Network:
    """Simonyan and Zisserman, "Very Deep Convolutional Networks", 2014.

    is_normalised  with batch normalisation behind every convolution
    """
    b, x = layers.builder, layers.image()
    for channels, convolutions in zip(_CHANNELS, _STAGES[depth], strict=True):
        for _ in range(convolutions):
            x = layers.convolution(x, channels, 3, bias=True)
            x = b.relu(layers.norm(x) if is_normalised else x)
        x = b.max_pool2d(x, pool_size=2, strides=2)
    x = b.flatten(x)
    for _ in range(2):
        x = b.relu(layers.dense(x, 4096, RELU_GAIN))
    return layers.classified(x)
