"""Layouts that the strategies here have in common."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.task import Task
from tilewright_tensor.layout import Layout

IMAGE_LAYOUTS = ("NCHW", "NHWC")
"""What images may look like; the alternatives of a strategy are named after them."""


def epilogue_layouts(task: Task, first: int, output: str) -> tuple[str, ...]:
    """Layouts of operands from `first` on: the output's where they have its rank."""
    rank = Layout.parse(output).rank
    return tuple(
        output if len(spec.shape) == rank else Layout.logical(len(spec.shape)).text
        for spec in task.workload.inputs[first:]
    )


def image_layouts(shape: Sequence[int]) -> list[str]:
    """Layouts a tensor of this shape may have: an image NCHW or NHWC, others logical."""
    logical = Layout.logical(len(shape)).text
    return list(IMAGE_LAYOUTS) if logical in IMAGE_LAYOUTS else [logical]
