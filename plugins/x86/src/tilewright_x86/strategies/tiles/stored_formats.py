"""Formats: layouts whose elements are stored as another data type."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tilewright.vocabulary.config import Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.layouts.layout import Layout
from tilewright_x86.machine.isa import isa_of


def rounds_natively(task: Task) -> bool:
    """Whether the target has instructions of bfloat16."""
    return "avx512bf16" in isa_of(task.target).features


def stored_as(dtype: str, layouts: Layouts, inputs: Collection[int], *, output: bool) -> Layouts:
    """The layouts with some inputs, by place, and maybe the output stored as a dtype."""

    def stored(text: str) -> str:
        return Layout.parse(text).stored_as(dtype).text

    given = (stored(x) if place in inputs else x for place, x in enumerate(layouts.inputs))
    outputs = map(stored, layouts.outputs) if output else layouts.outputs
    return replace(layouts, inputs=tuple(given), outputs=tuple(outputs))


def like_output(task: Task, layouts: Layouts) -> set[int]:
    """Places of the inputs in the output's layout, but for constants, which are small."""
    pairs = enumerate(zip(layouts.inputs, task.workload.inputs, strict=True))
    return {
        place
        for place, (text, spec) in pairs
        if text == layouts.outputs[0] and spec.role != "constant"
    }
