"""How many windows of a convolution or pooling lie along each spatial axis."""

from __future__ import annotations

from collections.abc import Sequence


def window_counts(
    extents: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int] = (1, 1, 1),
    *,
    ceil: bool = False,
) -> tuple[int, ...]:
    """The number of windows along each axis; `padding` has all begins, then all ends.

    With `ceil` a last window may stick out, as long as it does not begin in or behind the margin at
    the end (the rule of PyTorch and ONNX Runtime). Not positive where not even one fits.
    """
    found = []
    for d, (extent, stride) in enumerate(zip(extents, strides, strict=True)):
        before, after = padding[d], padding[len(extents) + d]
        free = extent + before + after - dilation[d] * (window[d] - 1) - 1
        count = (-(-free // stride) if ceil else free // stride) + 1
        sticks_out_only = ceil and (count - 1) * stride >= extent + before
        found.append(count - sticks_out_only)
    return tuple(found)
