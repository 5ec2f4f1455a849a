"""How many terms a convolution adds up that are not zeros of its margins."""

from __future__ import annotations


def terms_inside(
    taps: int, extent: int, outputs: int, *, before: int, dilation: int, stride: int = 1
) -> int:
    """Along an axis of the image: places of the result times taps that read an element there.

    `before` is the margin in front of the image.
    """
    pairs = 0
    for tap in range(taps):
        # of a place, the tap reads the element `place * stride - behind`
        behind = before - tap * dilation
        first, end = -(-behind // stride), -(-(behind + extent) // stride)
        pairs += max(min(end, outputs) - max(first, 0), 0)
    return pairs
