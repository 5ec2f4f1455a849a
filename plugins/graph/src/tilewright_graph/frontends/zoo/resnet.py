"""ResNets of images, and of films."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright_graph.frontends.zoo.layers import Layers
from tilewright_graph.network.network import Network

_BLOCKS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
}
"""By depth: blocks of each stage."""

_FRAMES, _KINDS_OF_FILM = 16, 400


def resnet(depth: int, layers: Layers) -> Network:
    """A classifier of images.

    He et al., "Deep Residual Learning for Image Recognition", 2015, with torchvision's strides:
    those of a block with a bottleneck are at its 3x3 convolution. Depth 18 is AutoTVM's: the first
    block of every stage projects its shortcut, also where the shape stays.
    """
    return layers.classified(layers.builder.global_avg_pool2d(resnet_stages(depth, layers)[-1]))


def resnet_stages(depth: int, layers: Layers) -> list[str]:
    """What each of the four stages makes of an image."""
    b = layers.builder
    x = layers.unit(layers.image(), 64, 7, 2)
    x = b.max_pool2d(x, pool_size=3, strides=2, padding=1)
    blocks = _Blocks(layers, sum(_BLOCKS[depth]), has_bottleneck=depth >= 50, projects=depth == 18)
    return blocks.stages(x, _BLOCKS[depth])


def resnet3d(layers: Layers) -> Network:
    """A classifier of films, 16 frames each: ResNet-18 with a third axis.

    Tran et al., "A Closer Look at Spatiotemporal Convolutions for Action Recognition", 2018, R3D.
    """
    b = layers.builder
    x = layers.unit(layers.image(_FRAMES), 64, (3, 7, 7), (1, 2, 2))
    x = _Blocks(layers, 8, has_bottleneck=False, projects=False).stages(x, _BLOCKS[18])[-1]
    return layers.classified(b.reduce_mean(x, axes=[2, 3, 4]), _KINDS_OF_FILM)


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Residual blocks.

    count           of all; what each adds is so much smaller, so that sums stay small
    has_bottleneck  a block is 1x1, 3x3 and 1x1 to four times the channels, not two 3x3
    projects        the shortcut of a stage's first block, even where shapes are equal
    """

    layers: Layers
    count: int
    has_bottleneck: bool
    projects: bool

    def stages(self, x: str, blocks: tuple[int, ...]) -> list[str]:
        ends = []
        for stage, number in enumerate(blocks):
            for block in range(number):
                stride = 2 if stage and not block else 1
                x = self._block(x, 64 << stage, stride, is_first=not block)
            ends.append(x)
        return ends

    def _block(self, x: str, width: int, stride: int, *, is_first: bool) -> str:
        layers, b, gain = self.layers, self.layers.builder, 1 / self.count
        channels = 4 * width if self.has_bottleneck else width
        depth, inner, shortcut = b.specs[x].shape[1], x, x
        if is_first and (self.projects or stride > 1 or depth != channels):
            shortcut = layers.norm(layers.convolution(x, channels, 1, stride, gain=1))
        if self.has_bottleneck:
            inner, kernel = layers.unit(layers.unit(inner, width, 1), width, 3, stride), 1
        else:
            inner, kernel = layers.unit(inner, width, 3, stride), 3
        inner = layers.norm(layers.convolution(inner, channels, kernel, gain=gain))
        return b.relu(b.add(inner, shortcut))
