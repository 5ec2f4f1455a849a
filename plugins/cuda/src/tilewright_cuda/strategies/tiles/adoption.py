"""What splits of AutoTVM's CUDA templates mean for blocks and threads."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.vocabulary.config import ConfigEntity


def block(split: Sequence[int]) -> int:
    """Elements of a split `[blocks, vthread, thread, inner]` that one block computes."""
    return prod(split[1:])


def of_thread(split: Sequence[int]) -> int:
    """Elements of such a split that one thread computes: virtual threads are its own."""
    return int(split[1] * split[3]) if len(split) == 4 else int(split[-1])


def image_tile(foreign: ConfigEntity) -> dict[str, int]:
    """Tile of filters and pixels of a template for images in NCHW, without a depth."""
    filters, rows, columns = (foreign[f"tile_{axis}"] for axis in "fyx")
    return {
        "bm": block(filters),
        "bn": block(rows) * block(columns),
        "tm": of_thread(filters),
        "tn": of_thread(rows) * of_thread(columns),
    }
