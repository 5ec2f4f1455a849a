"""What splits of AutoTVM's CUDA templates mean for blocks and threads."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod


def block(split: Sequence[int]) -> int:
    """Elements of a split `[blocks, vthread, thread, inner]` that one block computes."""
    return prod(split[1:])


def of_thread(split: Sequence[int]) -> int:
    """Elements of such a split that one thread computes: virtual threads are its own."""
    return int(split[1] * split[3]) if len(split) == 4 else int(split[-1])
