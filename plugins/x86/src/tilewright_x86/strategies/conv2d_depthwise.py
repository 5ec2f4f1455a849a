"""Depthwise convolution in NCHW[x]c: a tile of pixels of one vector of channels in registers."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.logs.autotvm_templates import template_of
from tilewright_tensor.logs.nearest import nearest
from tilewright_tensor.lowering.program_pass import ProgramPass
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    computes_in_float32,
    constants,
    epilogue_layouts,
)
from tilewright_x86.passes.skipped_terms import skip_neutral_terms
from tilewright_x86.strategies.tiles.register_tile import RegisterTile, accumulate_in_registers
from tilewright_x86.strategies.tiles.stored_formats import widened_filters
from tilewright_x86.strategies.tiles.vector_blocks import (
    blocked,
    channel_blocks,
    is_ragged,
    lanes,
    largest_divisor,
    registers,
)

_FEW_PIXELS = 4
"""Too few sums to hide their latency."""


class Conv2dDepthwise(ScheduledImplementation):
    """Depthwise convolutions; knobs choose the layout block and the tile of pixels."""

    name = "conv2d_depthwise.x86"

    def applies(self, task: Task) -> bool:
        """At most 32 bits, one constant filter a channel, channels that fill some of a vector."""
        data, weight, *_ = task.workload.inputs
        return (
            computes_in_float32(task)
            and weight.role == "constant"
            and task.workload.attributes["groups"] == data.shape[1] == weight.shape[0]
            and largest_divisor(data.shape[1], lanes(task)) > 1
        )

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Block of the layout, pixels of the tile, whether the taps are unrolled."""
        channels = task.workload.inputs[0].shape[1]
        width = self.operators.output(task.workload).shape[3]
        knobs = Knobs(self.name)
        knobs.define_knob("block_c", channel_blocks(channels, lanes(task)))
        knobs.define_split("tile_ow", width, num_outputs=2, max_factor=28)
        knobs.define_knob("unroll_kh", [False, True])
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """The narrowest block, and at most fourteen pixels.

        Of 16 registers taps and elements want half: eight pixels, unless these are a few at a time.
        """
        channels = task.workload.inputs[0].shape[1]
        width = self.operators.output(task.workload).shape[3]
        pixels = largest_divisor(width, 14 if registers(task) == 32 else 8)
        if pixels < _FEW_PIXELS:
            pixels = largest_divisor(width, 14)
        return ConfigEntity(
            self.name,
            {
                "block_c": channel_blocks(channels, lanes(task))[0],
                "tile_ow": (width // pixels, pixels),
                "unroll_kh": True,
            },
        )

    def adopt_config(self, task: Task, foreign: ConfigEntity) -> ConfigEntity | None:
        """AutoTVM's depthwise template: its block of channels and the pixels of its tile."""
        if template_of(foreign) != "depthwise_conv2d_NCHWc.x86":
            return None
        wanted = {
            "block_c": foreign["tile_oc"][-1],
            "tile_ow": foreign["tile_ow"][-1],
            "unroll_kh": foreign["unroll_kw"],
        }
        (alternative,) = self.alternatives(task)
        return nearest(alternative, wanted)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Blocked images, filters with the channels of a block side by side."""
        image = blocked(config["block_c"])
        filters = widened_filters(task, f"OIHW{config['block_c']}o")
        epilogue = epilogue_layouts(task, 2, image)
        return Layouts((image, filters, *epilogue), (image,), constants(task))

    def passes(self, task: Task, config: ConfigEntity) -> Sequence[ProgramPass]:
        """What the margin of the image would add is neither read nor added."""
        del task, config
        return [skip_neutral_terms]

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """The taps around a row of pixels of one vector of channels."""
        s = schedule.inline("pad") if "pad" in schedule.stages else schedule
        s, total, final = accumulate_in_registers(s, "conv2d")
        width = largest_divisor(config["block_c"], lanes(task))
        tile = RegisterTile(1, config["tile_ow"][-1], 1, width)
        s = tile.stored(s, total, final, rows_outermost=is_ragged(config["block_c"], lanes(task)))
        taps = s.loops(total)[4:]
        return tile.accumulated(s, total, taps, taps if config["unroll_kh"] else taps[-1:])


make = Conv2dDepthwise
