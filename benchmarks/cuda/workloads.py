"""Tasks that are measured by themselves."""

from __future__ import annotations

import re
from typing import Any

CONVOLUTIONS = (
    "conv2d(1x3x224x224, 64x3x7x7, strides=2, padding=3)",
    "conv2d(1x64x56x56, 64x64x3x3, padding=1)",
    "conv2d(1x64x56x56, 64x64x1x1)",
    "conv2d(1x64x56x56, 128x64x3x3, strides=2, padding=1)",
    "conv2d(1x64x56x56, 128x64x1x1, strides=2)",
    "conv2d(1x128x28x28, 128x128x3x3, padding=1)",
    "conv2d(1x128x28x28, 256x128x3x3, strides=2, padding=1)",
    "conv2d(1x128x28x28, 256x128x1x1, strides=2)",
    "conv2d(1x256x14x14, 256x256x3x3, padding=1)",
    "conv2d(1x256x14x14, 512x256x3x3, strides=2, padding=1)",
    "conv2d(1x256x14x14, 512x256x1x1, strides=2)",
    "conv2d(1x512x7x7, 512x512x3x3, padding=1)",
)
"""Those of ResNet-18 at batch 1."""

TRANSPOSED = (
    "conv2d_transpose(1x128x56x56, 64x128x2x2, strides=2)",
    "conv2d_transpose(1x512x16x16, 256x512x4x4, strides=2, padding=1)",
    "conv2d_transpose(1x256x64x64, 128x256x3x3, strides=2, padding=1, output_padding=1)",
)
"""As U-Nets, DCGANs and CycleGANs have them: the last one's residues differ in their taps."""

OTHERS = (
    "max_pool2d(1x64x112x112, pool_size=3, strides=2, padding=1)",
    "global_avg_pool2d(1x512x7x7)",
    "dense(1x512, 1000x512) + add(1x1000:const)",
    "softmax(1x1000)",
)

ODD = (
    "conv2d(1x16x7x7, 32x16x3x3, padding=1) + add(1x32x1x1:const) + add(1x32x7x7) + relu()",
    "conv2d(2x17x5x11, 13x17x3x3, padding=[1,0,2,1]) + add(1x13x1x1:const) + tanh()",
    "conv2d(1x23x11x13, 23x1x5x5, strides=2, padding=2, groups=23)",
    "conv2d(2x16x6x6, 20x16x3x3, padding=[1,0,2,1], dilation=2)",
    "conv2d_transpose(3x7x5x4, 17x7x3x3, strides=2, padding=1, output_padding=1) + relu()",
    "dense(67x31, 35x31)",
    "matmul(2x19x24, 2x24x36)",
    "matmul(1024x1024, 1024x1024)",
    "max_pool2d(1x5x9x9, pool_size=2, strides=2) + relu()",
    "avg_pool2d(2x16x8x8, pool_size=3, strides=2, padding=1)",
    "reduce_sum(3x5x17, axes=[2])",
    "reduce_max(37x300, axes=[1])",
    "softmax(37x300) + relu()",
    "add(1x32x7x7, 1x32x7x7) + relu()",
    "multiply(2x7x5x3, 2x7x5x1) + add(1x7x5x3)",
    "concat(1x3x5x5, 1x7x5x5, axis=1)",
    "layer_norm(3x5x17, 17, 17)",
    "layout_transform(2x37x5x9, src=NCHW, dst=NHWC)",
    "layout_transform(1x32x7x7, src=NCHW, dst=NCHW16c)",
)
"""Odd sizes, primes, tails, and operators without a strategy of their own."""

PRODUCTS = (
    "dense(67x31, 35x31)",
    "matmul(2x19x24, 2x24x36)",
    "dense(1x512, 1000x512:const) + add(1x1000:const) + relu()",
    "matmul(131x257, 257x67)",
    "matmul(1024x1024, 1024x1024)",
)
"""What tensor cores multiply in the run's precision."""

BYTES = (
    "matmul_integer(35x24:uint8, 24x36:int8)",
    "matmul_integer(67x131:int8, 131x35:int8)",
    "matmul_integer(512x512:int8, 512x512:uint8)",
)
"""And whatever the precision."""


def smaller(convolution: str) -> str:
    """The same convolution on an image of 7 pixels, for rehearsals."""
    return re.sub(r"\((1x\d+)x\d+x\d+,", r"(\1x7x7,", convolution)


def peer_question(convolution: str) -> dict[str, Any]:
    """What the peer is asked for: shapes of the image and of the weights, and the options."""
    found = re.fullmatch(r"(\w+)\(([\dx]+), ([\dx]+)((?:, \w+=\d+)*)\)", convolution)
    assert found is not None, convolution
    shapes = [[int(n) for n in text.split("x")] for text in found.groups()[1:3]]
    given = {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", found[4])}
    return {found[1]: shapes, "strides": 1, "padding": 0, **given}
