"""Pooling over windows or whole images in NCHW[x]c, vectors of channels at a time.

Where windows overlap, their columns are pooled first, each once for all windows that it is in.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.ir.dag import Dag
from tilewright_tensor.lowering.program_pass import ProgramPass
from tilewright_tensor.operators.builtin.pooling import pooled
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    computes_in_float32,
    constants,
    epilogue_layouts,
)
from tilewright_x86.passes.skipped_terms import skip_neutral_terms
from tilewright_x86.strategies.tiles.register_tile import RegisterTile, accumulate_in_registers
from tilewright_x86.strategies.tiles.vector_blocks import (
    blocked,
    channel_blocks,
    is_ragged,
    lanes,
    largest_divisor,
    registers,
    vector_counts,
)

_MOST_SUMS = 16
"""More running sums or maxima at a time than this hide no latency any more."""
_MOST_TAPS = 25
"""Of windows that are unrolled whole."""


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
        """The narrowest block, and about four sums at once or as many as registers hold columns."""
        shape = self.operators.output(task.workload).shape
        sums = 4
        if _share_columns(task):
            (_, width), (_, step) = (task.workload.attributes[n] for n in ("pool_size", "strides"))
            sums = (registers(task) - width) // (1 + step)
        places = largest_divisor(shape[3], min(max(1, sums), _MOST_SUMS))
        return ConfigEntity(
            self.name,
            {
                "block_c": channel_blocks(shape[1], lanes(task))[0],
                "vectors": vector_counts(shape[1], lanes(task), max(1, 4 // places))[-1],
                "tile_ow": (shape[3] // places, places),
            },
        )

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Blocked images on both sides."""
        image = blocked(config["block_c"])
        return Layouts((image, *epilogue_layouts(task, 1, image)), (image,), constants(task))

    def dag(self, task: Task, variant: Any) -> Dag:
        """The operator's definition; windows that share columns are made of these."""
        if not _share_columns(task):
            return super().dag(task, variant)
        by_columns = partial(pooled, task.workload.operator, by_columns=True)
        return self.operators.compute_dag(task.workload, by_columns)

    def passes(self, task: Task, config: ConfigEntity) -> Sequence[ProgramPass]:
        """What lies outside of the image is neither read nor added."""
        del task, config
        return [skip_neutral_terms]

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """The windows around a row of places of some vectors of channels, or their columns."""
        *_, reduction = (tensor for tensor in schedule.dag.computes if tensor.reduce_axes)
        s = schedule.inline("pad") if "pad" in schedule.stages else schedule
        s, total, final = accumulate_in_registers(s, reduction.name)
        width = largest_divisor(config["block_c"], lanes(task))
        tile = RegisterTile(1, config["tile_ow"][-1], config["vectors"], width)
        s = tile.stored(s, total, final, rows_outermost=is_ragged(config["block_c"], lanes(task)))
        window = s.loops(total)[4:]
        s = tile.accumulated(s, total, window, window if _is_small(task) else ())
        if "columns" in s.stages:
            tiles = f"{schedule.loops(final)[3]}.0"
            s = s.compute_at("columns", final, tiles, "register")
            s = tile.accumulated(s, "columns", ["kh"], ["kh"])
        return s


def _is_small(task: Task) -> bool:
    """Whether the window is unrolled: it is no whole image, and has few taps."""
    window = task.workload.attributes.get("pool_size")
    return window is not None and prod(window) <= _MOST_TAPS


def _share_columns(task: Task) -> bool:
    """Whether windows beside each other overlap in columns of several taps."""
    if not _is_small(task):
        return False
    (height, width), (_, step) = (task.workload.attributes[n] for n in ("pool_size", "strides"))
    return bool(height > 1 and step < width)


make = Pool2d
