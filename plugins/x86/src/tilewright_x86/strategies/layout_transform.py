"""Changes of layout in tiles that are transposed in registers: both sides see whole vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.layouts.layout import Layout, LayoutDim
from tilewright_tensor.lowering.program_pass import ProgramPass
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    computes_in_float32,
    constants,
    epilogue_layouts,
)
from tilewright_x86.strategies.tiles.flat_images import flattened, row_dim, unflatten
from tilewright_x86.strategies.tiles.register_tile import accumulate_in_registers
from tilewright_x86.strategies.tiles.vector_blocks import lanes, largest_divisor


class LayoutTransform(ScheduledImplementation):
    """Layout transforms; knobs choose the tile and in whose order memory is walked."""

    name = "layout_transform.x86"

    def applies(self, task: Task) -> bool:
        """Floats of at most 32 bits, between layouts without padding."""
        shape = task.workload.inputs[0].shape
        return computes_in_float32(task) and all(side.divides(shape) for side in _sides(task))

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Elements of a tile along the two axes, and which side is walked from begin to end."""
        task, (read, write) = _flat(task), _axes(task)
        knobs = Knobs(self.name)
        knobs.define_knob("read", _widths(task, read))
        knobs.define_knob("write", _widths(task, write))
        knobs.define_knob("order", ["source", "target"])
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """Whole vectors, the target written from begin to end."""
        read, write = (_widths(_flat(task), axis)[0] for axis in _axes(task))
        return ConfigEntity(self.name, {"read": read, "write": write, "order": "target"})

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """The two that the operator names."""
        source, target = _sides(task)
        epilogue = epilogue_layouts(task, 1, target.text)
        return Layouts((source.text, *epilogue), (target.text,), constants(task) - {0})

    def viewed(self, task: Task) -> Task:
        """Images whose rows are one, where that is possible."""
        return _flat(task)

    def passes(self, task: Task, config: ConfigEntity) -> Sequence[ProgramPass]:
        """Back to rows, where they were one."""
        if self.viewed(task) is task:
            return ()
        return [unflatten(self.layouts(task, config), task.workload)]

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """A tile is loaded along one axis and stored along the other, or the same one."""
        s, held, final = accumulate_in_registers(schedule, "layout_transform")
        shape = task.workload.inputs[0].shape
        read, write = _axes(task)
        widths = {read: config["read"], write: config["write"]}
        loops = s.loops(final)
        for axis, width in widths.items():
            s = s.split(final, loops[axis], [width])
        # loops whose last tile overhangs are serial and innermost: their tails are peeled
        walked = _sides(task)[config["order"] == "target"]
        overhangs = {axis: shape[axis] % width != 0 for axis, width in widths.items()}
        axes = sorted(
            dict.fromkeys(dim.axis for dim in walked.dims), key=lambda a: overhangs.get(a, False)
        )
        around = [f"{loops[axis]}.0" if axis in widths else loops[axis] for axis in axes]
        outer = around[: max(1, len(around) - sum(overhangs.values()) - 1)]
        row, column = (read, write) if _crossed(task) else (write, read)
        s = s.reorder(final, [*around, f"{loops[row]}.1", f"{loops[column]}.1"])
        s = s.unroll(final, f"{loops[row]}.1").vectorize(final, f"{loops[column]}.1")
        s, one = fused(s, final, outer)
        s = s.parallel(final, one)
        s = s.compute_at(held, final, around[-1] if len(outer) < len(around) else one, "register")
        loops = s.loops(held)
        tile = dict.fromkeys([loops[write], loops[read]])
        s = s.reorder(held, [*(loop for loop in loops if loop not in tile), *tile])
        return s.unroll(held, loops[write]).vectorize(held, loops[read])


def _sides(task: Task) -> tuple[Layout, Layout]:
    attributes = task.workload.attributes
    return Layout.parse(attributes["src"]), Layout.parse(attributes["dst"])


def _flat(task: Task) -> Task:
    """The task with all pixels in one row where both sides keep rows together, else the task."""
    if any(row_dim(side) is None for side in _sides(task)):
        return task
    workload = flattened(task.workload, *task.workload.inputs[0].shape[2:])
    return task if workload is None else replace(task, workload=workload)


def _first(side: Layout, axis: int) -> LayoutDim:
    """The outermost dimension of an axis."""
    return next(dim for dim in side.dims if dim.axis == axis)


def _crossed(task: Task) -> bool:
    """Whether the memory of the two sides runs along different axes."""
    source, target = _sides(task)
    return source.dims[-1].axis != target.dims[-1].axis


def _axes(task: Task) -> tuple[int, int]:
    """The axes of a tile: along which the source's memory runs, and along which the target's does.

    Where that is the same, the second is the next one out in the target.
    """
    source, target = (
        dict.fromkeys(dim.axis for dim in reversed(side.dims)) for side in _sides(task)
    )
    read = next(iter(source))
    return read, next((axis for axis in target if axis != read), read)


def _widths(task: Task, axis: int) -> list[int]:
    """Elements of an axis that may lie in one vector, in whole blocks; the most first.

    A block that stands before its axis holds no neighbours.
    """
    inside = [side for side in _sides(task) if not _first(side, axis).extent]
    blocks = [side.blocks[axis] for side in inside if side.blocks[axis] > 1]
    extent, most = task.workload.inputs[0].shape[axis], lanes(task)
    widest = largest_divisor(gcd(*blocks), most) if blocks else min(extent, most)
    return [widest, widest // 2] if widest > 4 and widest % 2 == 0 else [widest]


make = LayoutTransform
