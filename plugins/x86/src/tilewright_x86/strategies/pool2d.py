"""Pooling over windows or whole images in NCHW[x]c, vectors of channels at a time."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    computes_in_float32,
    constants,
    epilogue_layouts,
)
from tilewright_x86.strategies.tiles.register_tile import RegisterTile, accumulate_in_registers
from tilewright_x86.strategies.tiles.vector_blocks import (
    blocked,
    channel_blocks,
    is_ragged,
    lanes,
    largest_divisor,
    padded,
    vector_counts,
)

_MOST_SUMS = 16
"""More running sums or maxima at a time than this hide no latency any more."""


class Pool2d(ScheduledImplementation):
    """Maximum, average and global average pooling."""

    name = "pool2d.x86"

    def applies(self, task: Task) -> bool:
        """Floats of at most 32 bits, with channels that fill at least some of a vector."""
        return (
            computes_in_float32(task)
            and largest_divisor(task.workload.inputs[0].shape[1], lanes(task)) > 1
        )

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Block of the layout, and how many places and vectors of channels are made at once."""
        shape = self.operators.output(task.workload).shape
        knobs = Knobs(self.name)
        knobs.define_knob("block_c", channel_blocks(shape[1], lanes(task)))
        vectors = knobs.define_knob("vectors", vector_counts(shape[1], lanes(task), 4))
        tile_ow = knobs.define_split("tile_ow", shape[3], num_outputs=2, max_factor=_MOST_SUMS)
        knobs.constrain(tile_ow[-1] * vectors <= _MOST_SUMS)
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """The narrowest block and about four sums at once."""
        shape = self.operators.output(task.workload).shape
        places = largest_divisor(shape[3], 4)
        return ConfigEntity(
            self.name,
            {
                "block_c": channel_blocks(shape[1], lanes(task))[0],
                "vectors": vector_counts(shape[1], lanes(task), 4 // places)[-1],
                "tile_ow": (shape[3] // places, places),
            },
        )

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Blocked images on both sides."""
        image = blocked(config["block_c"])
        return Layouts((image, *epilogue_layouts(task, 1, image)), (image,), constants(task))

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """The window around a row of places of some vectors of channels."""
        reduction = next(t.name for t in schedule.dag.computes if t.reduce_axes)
        s, total, final = accumulate_in_registers(schedule, reduction)
        s = padded(s, config["block_c"])
        width = largest_divisor(config["block_c"], lanes(task))
        tile = RegisterTile(1, config["tile_ow"][-1], config["vectors"], width)
        s = tile.stored(s, total, final, rows_outermost=is_ragged(config["block_c"], lanes(task)))
        return tile.accumulated(s, total, s.loops(total)[4:], ())


make = Pool2d
