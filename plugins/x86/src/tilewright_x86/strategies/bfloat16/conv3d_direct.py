"""Direct convolution in NCDHW[x]c with products of bfloat16, as over two axes."""

from __future__ import annotations

from tilewright_x86.strategies.bfloat16.conv2d_direct import Conv2dDirectBfloat16


class Conv3dDirectBfloat16(Conv2dDirectBfloat16):
    """Convolutions over three axes of pairs of channels, stored as bfloat16."""

    name = "conv3d_direct_bf16.x86"
    axes = "DHW"


conv3d_direct = Conv3dDirectBfloat16
