"""Chains of element-wise operators in one pass over memory, in the layout of the neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.expressions.dtype import ITEM_BYTES
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    constants,
    epilogue_layouts,
    is_elementwise,
)
from tilewright_x86.strategies.tiles.vector_blocks import image_layouts, lanes, largest_divisor

_LANE_BYTES = 4
_SMALLEST_PART = 1024
"""Elements of a part that one thread makes at a time, at least."""


class Elementwise(ScheduledImplementation):
    """Element-wise chains; one knob is the layout they share with their neighbours."""

    name = "elementwise.x86"

    def applies(self, task: Task) -> bool:
        """Element-wise anchors with at least one axis, on elements of four bytes at most."""
        narrow = all(ITEM_BYTES[spec.dtype] <= _LANE_BYTES for spec in task.workload.inputs)
        return narrow and is_elementwise(task, self.operators)

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """The layout of all operands of full shape."""
        knobs = Knobs(self.name)
        shape = self.operators.output(task.workload).shape
        knobs.define_knob("layout", image_layouts(shape, lanes(task)))
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """Blocks of one vector where there are channels to block, as most neighbours want."""
        shape = self.operators.output(task.workload).shape
        return ConfigEntity(self.name, {"layout": image_layouts(shape, lanes(task))[-1]})

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """The chosen layout wherever it fits."""
        operands = epilogue_layouts(task, 0, config["layout"])
        return Layouts(operands, (config["layout"],), constants(task))

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """One nest in the order of memory; what is a run of it for all operands is one loop."""
        s, final = schedule, schedule.dag.outputs[0].name
        for tensor in s.dag.computes[:-1]:
            s = s.inline(tensor)
        loops, axes = list(s.loops(final)), list(range(len(s.loops(final))))
        block = Layout.parse(config["layout"]).blocks[1] if len(loops) == 4 else 1
        if block > 1:
            n, c, h, w = loops
            s = s.split(final, c, [block])
            loops, axes = [n, f"{c}.0", h, w, f"{c}.1"], [0, 1, 2, 3, 1]
            s = s.reorder(final, loops)
        inner = loops.pop()
        while loops and self._same_operands(task, axes[-1], axes[-2]):
            s, inner = fused(s, final, [loops.pop(), inner])
            axes.pop()
        if not loops:
            extent = prod(self.operators.output(task.workload).shape)
            parts = largest_divisor(extent, max(1, extent // _SMALLEST_PART))
            s = s.split(final, inner, [extent // parts])
            loops, inner = [f"{inner}.0"], f"{inner}.1"
        s, around = fused(s, final, loops[:-1] or loops)
        return s.parallel(final, around).vectorize(final, inner)

    def _same_operands(self, task: Task, *axes: int) -> bool:
        """Whether an operand that is broadcast along one of the axes is so along all."""
        shape = self.operators.output(task.workload).shape
        operands = task.workload.inputs
        return all(len({spec.shape[a] == shape[a] for a in axes}) == 1 for spec in operands)


make = Elementwise
