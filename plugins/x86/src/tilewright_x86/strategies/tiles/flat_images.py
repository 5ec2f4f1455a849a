"""Images as rows of pixels, for operators to which height and width are one axis."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import prod

from tilewright.vocabulary.config import Layouts
from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_tensor.expressions.affine import floor_div, mod
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Load, Value
from tilewright_tensor.ir.loop_ir import LoopProgram, changed_leaves
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.lowering.program_pass import ProgramPass


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


def unflatten(layouts: Layouts, workload: Workload) -> ProgramPass:
    """For the program of a flattened workload: on operands [N, C, H, W], which are the same memory.

    The layouts have the two axes side by side and without blocks.
    """
    height, width = workload.inputs[0].shape[2:]
    run = partial(_unflattened, layouts, height, width)
    return ProgramPass(f"rows of {width} pixels", run)


def _unflattened(layouts: Layouts, height: int, width: int, program: LoopProgram) -> LoopProgram:
    texts = (*layouts.inputs, *layouts.outputs)
    places: dict[Buffer, tuple[Buffer, int]] = {}
    # an operand that is the same for all pixels stays as it is
    for buffer, text in zip((*program.inputs, *program.outputs), texts, strict=True):
        row = row_dim(Layout.parse(text))
        shape = list(buffer.shape)
        if row is not None and prod(shape[row : row + 2]) == height * width:
            shape[row : row + 2] = height, width
            places[buffer] = replace(buffer, shape=tuple(shape)), row

    def leaf(value: Value) -> Value:
        if not isinstance(value, Load) or value.buffer not in places:
            return value
        (whole, row), indices = places[value.buffer], value.indices
        pixel = indices[row] * value.buffer.shape[row + 1] + indices[row + 1]
        split = floor_div(pixel, width), mod(pixel, width)
        return Load(whole, (*indices[:row], *split, *indices[row + 2 :]))

    return replace(
        program,
        inputs=tuple(places[b][0] if b in places else b for b in program.inputs),
        outputs=tuple(places[b][0] if b in places else b for b in program.outputs),
        body=changed_leaves(program.body, leaf),
    )


def row_dim(layout: Layout) -> int | None:
    """Which dimension in memory the height is, if the width, too without blocks, is the next."""
    if layout.letters != "NCHW" or layout.blocks[2:] != (1, 1):
        return None
    row = next(i for i, dim in enumerate(layout.dims) if dim.axis == 2)
    together = row + 1 < len(layout.dims) and layout.dims[row + 1].axis == 3
    return row if together else None
