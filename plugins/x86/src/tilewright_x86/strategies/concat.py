"""Concats as one straight copy for each operand, in the layout of the neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.expressions.affine import Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Load
from tilewright_tensor.ir.loop_ir import Loop, LoopProgram, Statement, Store, block
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.strategies.scheduled_implementation import computes_in_float32, constants
from tilewright_x86.strategies.tiles.places import unravelled
from tilewright_x86.strategies.tiles.vector_blocks import image_layouts, lanes, largest_divisor

_SMALLEST_PART = 4096
"""Elements of a part that one thread copies at a time, at least."""


class Concat:
    """Concats without an epilogue; one knob is the layout of all operands and of the result."""

    name = "concat.x86"

    def __init__(self, operators: Operators) -> None:
        self.operators = operators

    def applies(self, task: Task) -> bool:
        """Floats of at most 32 bits, no epilogue."""
        return computes_in_float32(task) and not task.workload.epilogue

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """The layouts whose blocks no operand fills partly."""
        knobs = Knobs(self.name)
        knobs.define_knob("layout", self._layouts(task))
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """Blocks of one vector where they divide all channels, as most neighbours want."""
        return ConfigEntity(self.name, {"layout": self._layouts(task)[-1]})

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """The chosen one throughout."""
        layout = self.stored(config).text
        return Layouts((layout,) * len(task.workload.inputs), (layout,), constants(task))

    def stored(self, config: ConfigEntity) -> Layout:
        """The chosen layout, and what its elements are stored as."""
        return Layout.parse(config["layout"])

    def lower(self, task: Task, config: ConfigEntity) -> LoopProgram:
        """One nest an operand: what is inside the axis is one run of memory on both sides."""
        workload = task.workload
        layout = self.stored(config)
        axis = workload.attributes["axis"] % layout.rank
        dim = next(i for i, d in enumerate(layout.dims) if d.axis == axis)
        inputs = tuple(
            Buffer(f"data{i}", layout.physical_shape(spec.shape), layout.storage(spec.dtype))
            for i, spec in enumerate(workload.inputs)
        )
        output = self.operators.output(workload)
        stored = layout.storage(output.dtype)
        result = Buffer("concat", layout.physical_shape(output.shape), stored)
        ends = accumulate(buffer.shape[dim] for buffer in inputs)
        copies = [
            _copy(buffer, result, dim, end - buffer.shape[dim])
            for buffer, end in zip(inputs, ends, strict=True)
        ]
        return LoopProgram(f"concat_{workload.key}", inputs, (result,), block(copies))

    def _layouts(self, task: Task) -> list[str]:
        shapes = [spec.shape for spec in task.workload.inputs]
        layouts = image_layouts(shapes[0], lanes(task))
        return [x for x in layouts if all(map(Layout.parse(x).divides, shapes))]


def _copy(source: Buffer, result: Buffer, dim: int, begin: int) -> Statement:
    """All of an operand into the result, from `begin` on along a dimension, part by part.

    A part is some of one dimension and all of those inside it. So its places are one run for LLVM
    too, which would divide for the index of every element otherwise.
    """
    divided, extent = _part(source.shape, dim)
    outside = (*source.shape[:divided], source.shape[divided] // extent)
    inside = (extent, *source.shape[divided + 1 :])
    part, place = Var(f"{source.name}.part"), Var(f"{source.name}.place")
    *before, number = unravelled(index(part), outside, {part: (0, prod(outside) - 1)})
    first, *behind = unravelled(index(place), inside, {place: (0, prod(inside) - 1)})
    read = (*before, number * extent + first, *behind)
    written = (*read[:dim], read[dim] + begin, *read[dim + 1 :])
    copied = Loop(place, prod(inside), "vectorized", Store(result, written, Load(source, read)))
    return Loop(part, prod(outside), "parallel", copied)


def _part(shape: Sequence[int], dim: int) -> tuple[int, int]:
    """The dimension that parts divide, not outside of `dim`, and how much of it is in one."""
    inside, divided = 1, len(shape) - 1
    while divided > dim and inside * shape[divided] < _SMALLEST_PART:
        inside *= shape[divided]
        divided -= 1
    wanted = min(shape[divided], -(-_SMALLEST_PART // inside))
    return divided, shape[divided] // largest_divisor(shape[divided], shape[divided] // wanted)


make = Concat
