"""Depthwise convolutions and pooling in plain NCHW: vectors of pixels, one channel at a time.

For neighbours in NCHW, as grouped convolutions are whose groups fill no whole vectors: blocks of
channels would cost a transform on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

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
from tilewright_x86.machine.isa import isa_of
from tilewright_x86.strategies.tiles.register_tile import accumulate_in_registers
from tilewright_x86.strategies.tiles.stored_formats import widened_filters
from tilewright_x86.strategies.tiles.vector_blocks import (
    CHAINS,
    lanes,
    largest_divisor,
    registers,
)

_PLANE_BYTES = 256 << 10
"""Most that a padded channel takes, of the second-level cache."""
_MOST_TAPS = 25
"""Of windows that are unrolled whole."""


class Planes(ScheduledImplementation):
    """Depthwise convolutions and pooling; one knob is the rows of a tile of one vector."""

    name = "planes.x86"

    def applies(self, task: Task) -> bool:
        """At most 32 bits, one constant filter a channel, steps of at most two, small images."""
        data, *others = task.workload.inputs
        attributes = task.workload.attributes
        top, left, bottom, right = attributes["padding"]
        _, channels, height, width = data.shape
        if not computes_in_float32(task) or max(attributes["strides"]) > 2:
            return False
        if _is_convolution(task):
            weight = others[0]
            depthwise = attributes["groups"] == channels == weight.shape[0]
            if not depthwise or weight.role != "constant":
                return False
        elements: int = (height + top + bottom) * (width + left + right)
        return 4 * elements <= _PLANE_BYTES

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Rows of the tile, which are its sums."""
        knobs = Knobs(self.name)
        knobs.define_knob("rows", self._rows(task))
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity | None:
        """The fewest rows that hide the latency of their sums, or most of it.

        None without AVX-512 where channels can be blocked: of the registers it has half, parts of
        vectors are slow, and next to blocks pooling takes 2.5 times, a convolution 5.5 times as
        long (medians, Zen 3), which is more than transforms take.
        """
        channels = task.workload.inputs[0].shape[1]
        if isa_of(task.target).vector_bits < 512 and largest_divisor(channels, lanes(task)) > 1:
            return None
        rows = self._rows(task)
        return ConfigEntity(
            self.name, {"rows": next((n for n in rows if n > CHAINS // 2), rows[-1])}
        )

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Plain throughout."""
        filters = (widened_filters(task, "OIHW"),) if _is_convolution(task) else ()
        operands = ("NCHW", *filters, *epilogue_layouts(task, 1 + len(filters), "NCHW"))
        return Layouts(operands, ("NCHW",), constants(task))

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Channels in parallel; each is padded in the cache, then made tile by tile."""
        reduction = next(tensor for tensor in schedule.dag.computes if tensor.reduce_axes)
        s, total, final = accumulate_in_registers(schedule, reduction.name)
        n, c, h, w = s.loops(final)
        s = s.split(final, h, [config["rows"]]).split(final, w, [lanes(task)])
        s = s.reorder(final, [n, c, f"{h}.0", f"{w}.0", f"{h}.1", f"{w}.1"])
        s = s.unroll(final, f"{h}.1").vectorize(final, f"{w}.1")
        s = s.compute_at(total, final, f"{w}.0", "register")
        s, one = fused(s, final, [n, c])
        s = s.parallel(final, one)
        if "pad" in s.stages:
            s = s.compute_at("pad", final, one, "local")
            s = s.vectorize("pad", s.loops("pad")[-1])
        n, c, h, w, *window = s.loops(total)
        s = s.reorder(total, [*window, n, c, h, w])
        taps = prod(axis.extent for axis in reduction.reduce_axes)
        unrolled = window if taps <= _MOST_TAPS else window[-1:]
        return s.unroll(total, *unrolled, n, c, h).vectorize(total, w)

    def _rows(self, task: Task) -> list[int]:
        """Divisors of the image's height that fit the registers."""
        *_, height, _ = self.operators.output(task.workload).shape
        return [n for n in range(1, registers(task) // 2 + 1) if height % n == 0]


def _is_convolution(task: Task) -> bool:
    return "groups" in task.workload.attributes


make = Planes
