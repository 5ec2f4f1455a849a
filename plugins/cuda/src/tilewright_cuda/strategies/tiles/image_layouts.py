"""What images may look like to the strategies here."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright_tensor.layouts.layout import Layout

IMAGE_LAYOUTS = ("NCHW", "NHWC")
"""The alternatives of a strategy are named after them."""


def image_layouts(shape: Sequence[int]) -> list[str]:
    """Layouts a tensor of this shape may have: an image NCHW or NHWC, others logical."""
    logical = Layout.logical(len(shape)).text
    return list(IMAGE_LAYOUTS) if logical in IMAGE_LAYOUTS else [logical]
