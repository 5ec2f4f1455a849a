"""Images as rows of pixels, for operators to which height and width are one axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from tilewright.layouts import Layouts
from tilewright.workload import TensorSpec, Workload
from tilewright_tensor.affine import Affine, floor_div, mod
from tilewright_tensor.expr import Load, Value, map_value
from tilewright_tensor.layout import Layout
from tilewright_tensor.loop_ir import (
    Buffer,
    LoopProgram,
    Prefetch,
    Statement,
    Store,
    changed_inside,
)


def is_pointwise(workload: Workload) -> bool:
    """Whether a convolution has one tap and computes every pixel from that pixel alone."""
    attributes = workload.attributes
    return (
        workload.inputs[1].shape[2:] == (1, 1)
        and set(attributes["strides"]) == {1}
        and set(attributes["padding"]) == {0}
    )


def flattened(workload: Workload, height: int, width: int, rows: int = 1) -> Workload | None:
    """The workload on [N, C, rows, H * W / rows]; None where an operand has but one of the axes."""
    inputs = []
    for spec in workload.inputs:
        *outer, h, w = spec.shape
        if (h, w) == (height, width):
            inputs.append(TensorSpec((*outer, rows, h * w // rows), spec.dtype, spec.role))
        elif (h, w) == (1, 1):
            inputs.append(spec)
        else:
            return None
    return replace(workload, inputs=tuple(inputs))


def unflattened(program: LoopProgram, layouts: Layouts, height: int, width: int) -> LoopProgram:
    """The program of a flattened workload on operands [N, C, H, W], which are the same memory.

    The layouts have the two axes side by side and without blocks.
    """
    texts = (*layouts.inputs, *layouts.outputs)
    places: dict[Buffer, tuple[Buffer, int]] = {}
    # an operand that is the same for all pixels stays as it is
    for buffer, text in zip((*program.inputs, *program.outputs), texts, strict=True):
        row = row_dim(Layout.parse(text))
        shape = list(buffer.shape)
        if row is not None and prod(shape[row : row + 2]) == height * width:
            shape[row : row + 2] = height, width
            places[buffer] = Buffer(buffer.name, tuple(shape), buffer.dtype), row
    return LoopProgram(
        program.name,
        tuple(places[buffer][0] if buffer in places else buffer for buffer in program.inputs),
        tuple(places[buffer][0] if buffer in places else buffer for buffer in program.outputs),
        _Unflattened(places, width).statement(program.body),
        program.workspace,
    )


def row_dim(layout: Layout) -> int | None:
    """Which dimension in memory the height is, if the width, too without blocks, is the next."""
    if layout.letters != "NCHW" or layout.blocks[2:] != (1, 1):
        return None
    row = next(i for i, dim in enumerate(layout.dims) if dim.axis == 2)
    together = row + 1 < len(layout.dims) and layout.dims[row + 1].axis == 3
    return row if together else None


class _Unflattened:
    """Rewrites accesses; `places` has an operand's new buffer and its dimension of rows."""

    def __init__(self, places: Mapping[Buffer, tuple[Buffer, int]], width: int) -> None:
        self._places = places
        self._width = width

    def statement(self, statement: Statement) -> Statement:
        if isinstance(statement, Store):
            buffer, indices = self._place(statement.buffer, statement.indices)
            return Store(buffer, indices, map_value(statement.value, self._leaf))
        if isinstance(statement, Prefetch):
            return Prefetch(
                *self._place(statement.buffer, statement.indices), statement.offset_bytes
            )
        return changed_inside(statement, self.statement)

    def _leaf(self, value: Value) -> Value:
        if isinstance(value, Load):
            return Load(*self._place(value.buffer, value.indices))
        return value

    def _place(
        self, buffer: Buffer, indices: tuple[Affine, ...]
    ) -> tuple[Buffer, tuple[Affine, ...]]:
        if buffer not in self._places:
            return buffer, indices
        whole, row = self._places[buffer]
        pixel = indices[row] * buffer.shape[row + 1] + indices[row + 1]
        split = floor_div(pixel, self._width), mod(pixel, self._width)
        return whole, (*indices[:row], *split, *indices[row + 2 :])
