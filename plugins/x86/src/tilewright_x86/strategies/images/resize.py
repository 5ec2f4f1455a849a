"""Resizing of images in NCHW[x]c: vectors of channels, whose place and shares are the same.

Along a row, neighbours come from places that need a gather, and each has shares of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    computes_in_float32,
    constants,
    epilogue_layouts,
)
from tilewright_x86.strategies.tiles.vector_blocks import (
    blocked,
    channel_blocks,
    lanes,
)


class Resize(ScheduledImplementation):
    """Images made larger or smaller; one knob is the block of channels of both sides."""

    name = "resize.x86"

    def applies(self, task: Task) -> bool:
        """Floats of at most 32 bits, images of several channels, all of which stay."""
        data = task.workload.inputs[0].shape
        kept = len(data) == 4 and data[:2] == self.operators.output(task.workload).shape[:2]
        return kept and data[1] > 1 and computes_in_float32(task)

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """The block of the layout."""
        knobs = Knobs(self.name)
        channels = task.workload.inputs[0].shape[1]
        knobs.define_knob("block_c", channel_blocks(channels, lanes(task)))
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """The narrowest block, as most neighbours want."""
        channels = task.workload.inputs[0].shape[1]
        return ConfigEntity(self.name, {"block_c": channel_blocks(channels, lanes(task))[0]})

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Blocked images on both sides."""
        image = blocked(config["block_c"])
        return Layouts((image, *epilogue_layouts(task, 1, image)), (image,), constants(task))

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Row by row in parallel, all channels of a block at a time."""
        s, final = schedule, schedule.dag.outputs[0].name
        for tensor in s.dag.computes[:-1]:
            s = s.inline(tensor)
        n, c, h, w = s.loops(final)
        s = s.split(final, c, [config["block_c"]])
        s = s.reorder(final, [n, f"{c}.0", h, w, f"{c}.1"]).vectorize(final, f"{c}.1")
        s, one = fused(s, final, [n, f"{c}.0", h])
        return s.parallel(final, one)


make = Resize
