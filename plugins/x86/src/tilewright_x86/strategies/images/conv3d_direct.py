"""Direct convolution in NCDHW[x]c: that of two axes with depth as one more loop around tiles."""

from __future__ import annotations

from tilewright_x86.strategies.conv2d_direct import Conv2dDirect


class Conv3dDirect(Conv2dDirect):
    """Convolutions over three axes; tiles are of one plane, taps of depth around the others."""

    name = "conv3d_direct.x86"
    axes = "DHW"


make = Conv3dDirect
