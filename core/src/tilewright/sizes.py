"""Bounds on the sizes of tensors and networks, checked where they enter.

A larger size is a mistake or an attack on the memory; what fits a machine is smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.errors import UsageError

MOST_ELEMENTS = 2**30
"""Of a tensor: 4 GiB of float32."""

MOST_STEP = 2**24
"""Of a stride, a dilation, and what is added at one side of an axis."""


def check_shape(shape: Sequence[int], dtype: str) -> None:
    """Raise UsageError unless a tensor may have the shape."""
    if min(shape, default=0) < 0:
        raise UsageError(f"a tensor cannot have shape {list(shape)}", remedy="no extent is below 0")
    if prod(shape) > MOST_ELEMENTS:
        raise UsageError(
            f"{dtype}{list(shape)} has {prod(shape)} elements",
            remedy=f"a tensor has at most {MOST_ELEMENTS}: compute it in parts",
        )
