"""Formats: layouts whose elements are stored as another data type."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tilewright.vocabulary.config import Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.expressions.dtype import DATA_TYPES
from tilewright_tensor.layouts.layout import Layout
from tilewright_x86.machine.isa import isa_of


def rounds_natively(task: Task) -> bool:
    """Whether the target has instructions of bfloat16, and operands lose no digits of float16."""
    return "avx512bf16" in isa_of(task.target).features and not is_float16(task)


def is_float16(task: Task) -> bool:
    """Whether an operand is float16, which has more digits than bfloat16 and a smaller range."""
    return any(spec.dtype == "float16" for spec in task.workload.inputs)


def widened_filters(task: Task, layout: str) -> str:
    """The layout of filters that are multiplied in float32: constants are converted once, before.

    As float32 they come in as fast as sums go on; conversions would take their turns.
    """
    own = task.workload.inputs[1].dtype
    wide = DATA_TYPES[own].accumulator
    return layout if own == wide else Layout.parse(layout).stored_as(wide).text


def stored_in_bfloat16(
    task: Task, layouts: Layouts, inputs: Collection[int], output: str = ""
) -> Layouts:
    """The layouts with what is float32 of some inputs, by place, and the output stored as bfloat16.

    output   its dtype; empty where it stays as it is
    """

    def stored(text: str, own: str) -> str:
        return Layout.parse(text).stored_as("bfloat16").text if own == "float32" else text

    own = [spec.dtype for spec in task.workload.inputs]
    given = (
        stored(x, own[place]) if place in inputs else x for place, x in enumerate(layouts.inputs)
    )
    outputs = [stored(x, output) for x in layouts.outputs]
    return replace(layouts, inputs=tuple(given), outputs=tuple(outputs))


def like_output(task: Task, layouts: Layouts) -> set[int]:
    """Places of the inputs in the output's layout, but for constants, which are small."""
    pairs = enumerate(zip(layouts.inputs, task.workload.inputs, strict=True))
    return {
        place
        for place, (text, spec) in pairs
        if text == layouts.outputs[0] and spec.role != "constant"
    }
