"""Formats: layouts whose elements are stored as another data type."""

from __future__ import annotations

from dataclasses import replace

from tilewright.vocabulary.config import Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.layouts.layout import Layout


def stored_as(dtype: str, task: Task, layouts: Layouts) -> Layouts:
    """The layouts with what is multiplied and the output stored as a dtype.

    So is what an epilogue reads in the output's layout, but for constants, which are small.
    """
    output = layouts.outputs[0]

    def stored(text: str) -> str:
        return Layout.parse(text).stored_as(dtype).text

    inputs = tuple(
        stored(text) if place < 2 or (text == output and spec.role != "constant") else text
        for place, (text, spec) in enumerate(zip(layouts.inputs, task.workload.inputs, strict=True))
    )
    return replace(layouts, inputs=inputs, outputs=(stored(output),))
