"""Convolutions of single pixels in plain NCHW: vectors of pixels, any number of filters.

Where the filters of a group fill no whole vectors, as in ShuffleNet, blocks of channels leave most
lanes empty; pixels of all rows together do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.lowering.program_pass import ProgramPass
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    computes_in_float32,
    constants,
)
from tilewright_x86.strategies.tiles.flat_images import flattened, is_pointwise, unflatten
from tilewright_x86.strategies.tiles.register_tile import accumulate_in_registers
from tilewright_x86.strategies.tiles.stored_formats import widened_filters
from tilewright_x86.strategies.tiles.vector_blocks import CHAINS, lanes, registers

_VECTORS = 4
"""Most vectors of pixels of a register tile."""
_IN_TURN = "/in_turn"


class Conv2dPixels(ScheduledImplementation):
    """1x1 convolutions whose groups' filters fill no whole vectors; knobs choose the tile."""

    name = "conv2d_pixels.x86"

    def applies(self, task: Task) -> bool:
        """At most 32 bits, constant filters of one tap, every pixel, a number no block fits."""
        workload = task.workload
        data, weight, *_ = workload.inputs
        return (
            computes_in_float32(task)
            and weight.role == "constant"
            and is_pointwise(workload)
            and _filters(task) % lanes(task) != 0
            and flattened(workload, *data.shape[2:]) is not None
        )

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Filters and vectors of pixels of the register tile, channels unrolled.

        Once more for groups whose filters take turns in memory: behind a channel shuffle, that is
        plain NCHW.
        """
        grouped = task.workload.attributes["groups"] > 1 and _filters(task) > 1
        names = [self.name, *([self.name + _IN_TURN] if grouped else [])]
        return [self.knobs(task, name).alternative() for name in names]

    def knobs(self, task: Task, name: str) -> Knobs:
        """The knobs of the alternative of a name."""
        filters, limit = _filters(task), registers(task) - 1
        knobs = Knobs(name)
        rows = knobs.define_split("tile_oc", filters, num_outputs=2, max_factor=limit)
        vectors = knobs.define_knob("vectors", self.vectors(task))
        knobs.define_knob("unroll_ic", [1, 2, 4])
        knobs.constrain(rows[-1] * vectors + vectors + 1 <= limit)
        fits = max(rows * n for rows, n in self.tiles(task))
        knobs.constrain(rows[-1] * vectors >= min(CHAINS, fits))
        return knobs

    def vectors(self, task: Task) -> list[int]:
        """How many vectors of pixels a register tile may have."""
        return list(range(1, _VECTORS + 1))

    def fallback(self, task: Task) -> ConfigEntity:
        """The tile with most sums."""
        rows, vectors = max(self.tiles(task), key=lambda tile: (tile[0] * tile[1], tile))
        filters = _filters(task)
        values = {"tile_oc": (filters // rows, rows), "vectors": vectors, "unroll_ic": 1}
        return ConfigEntity(self.name, values)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Plain images, or a result whose groups take turns; filters of a tile side by side."""
        rows = config["tile_oc"][-1]
        filters = widened_filters(task, f"OIHW{rows}o" if rows > 1 else "OIHW")
        others = ("NCHW",) * (len(task.workload.inputs) - 2)
        result = f"N{_filters(task)}cCHW" if config.strategy.endswith(_IN_TURN) else "NCHW"
        return Layouts(("NCHW", filters, *others), (result,), constants(task))

    def viewed(self, task: Task) -> Task:
        """Images whose rows are one."""
        flat = flattened(task.workload, *task.workload.inputs[0].shape[2:])
        assert flat is not None, "it applies"
        return replace(task, workload=flat)

    def passes(self, task: Task, config: ConfigEntity) -> Sequence[ProgramPass]:
        """Back to rows."""
        return [unflatten(self.layouts(task, config), task.workload)]

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Groups and tiles of filters in parallel; the sum over channels around the tile."""
        s, total, final = accumulate_in_registers(schedule, "conv2d")
        n, c, h, w = s.loops(final)
        s = s.split(final, c, config["tile_oc"]).split(final, w, [config["vectors"], lanes(task)])
        around, tiles = self.around([n, f"{c}.0", f"{c}.1", h], config)
        inside = [f"{c}.2", f"{w}.1"]
        s = s.reorder(final, [*around, *tiles, f"{w}.0", *inside, f"{w}.2"]).unroll(final, *inside)
        s = s.vectorize(final, f"{w}.2").compute_at(total, final, f"{w}.0", "register")
        s, one = fused(s, final, around)
        return self.accumulated(s.parallel(final, one), total, config, lanes(task))

    def around(self, loops: list[str], config: ConfigEntity) -> tuple[list[str], list[str]]:
        """Of images, groups, tiles of filters and rows: which are one parallel loop, the rest."""
        return loops, []

    def accumulated(
        self, schedule: Schedule, total: str, config: ConfigEntity, width: int
    ) -> Schedule:
        """The sum over channels around the tile, in vectors of `width` pixels."""
        n, c, h, w, ic, kh, kw = schedule.loops(total)
        s = schedule.split(total, w, [width]).split(total, ic, [config["unroll_ic"]])
        inside = [f"{ic}.1", n, c, h, f"{w}.0"]
        s = s.reorder(total, [f"{ic}.0", kh, kw, *inside, f"{w}.1"])
        return s.unroll(total, *inside).vectorize(total, f"{w}.1")

    def tiles(self, task: Task) -> list[tuple[int, int]]:
        """(filters, vectors) of the register tiles that fit the registers."""
        limit = registers(task) - 1
        return [
            (rows, vectors)
            for rows in range(1, limit + 1)
            for vectors in self.vectors(task)
            if _filters(task) % rows == 0 and rows * vectors + vectors + 1 <= limit
        ]


def _filters(task: Task) -> int:
    """Filters of one group."""
    filters: int = task.workload.inputs[1].shape[0] // task.workload.attributes["groups"]
    return filters


make = Conv2dPixels
