"""Layouts and loops over threads, as the strategies here have them in common."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused

IMAGE_LAYOUTS = ("NCHW", "NHWC")
"""What images may look like; the alternatives of a strategy are named after them."""


def image_layouts(shape: Sequence[int]) -> list[str]:
    """Layouts a tensor of this shape may have: an image NCHW or NHWC, others logical."""
    logical = Layout.logical(len(shape)).text
    return list(IMAGE_LAYOUTS) if logical in IMAGE_LAYOUTS else [logical]


def over_threads(
    s: Schedule, stage: str, loops: Sequence[str], threads: int
) -> tuple[Schedule, str]:
    """(schedule, the thread's loop): the loops over blocks of so many threads."""
    s, one = fused(s, stage, loops)
    s = s.split(stage, one, [threads])
    s = s.bind(stage, f"{one}.0", "blockIdx.x").bind(stage, f"{one}.1", "threadIdx.x")
    return s, f"{one}.1"
