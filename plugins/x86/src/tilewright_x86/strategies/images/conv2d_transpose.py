"""Transposed convolution in NCHW[x]c: for every residue of the strides a direct convolution.

The pixels of a tile are a stride apart in the output, so that all of them have the same taps, and
read neighbours of the image.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.lowering.program_pass import ProgramPass
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused, inlined_behind
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    computes_in_float32,
    constants,
    epilogue_layouts,
)
from tilewright_x86.passes.skipped_terms import skip_neutral_terms
from tilewright_x86.strategies.conv2d_direct import group_of, output_blocks
from tilewright_x86.strategies.tiles.stored_formats import widened_filters
from tilewright_x86.strategies.tiles.vector_blocks import (
    CHAINS,
    blocked,
    channel_blocks,
    lanes,
    largest_divisor,
    registers,
)

_VECTORS = 1, 2, 3, 4
"""Vectors of filters of a register tile."""
_NARROW = 8
"""With fewer input channels than this the image stays in plain NCHW."""


class Conv2dTranspose(ScheduledImplementation):
    """Transposed convolutions with constant filters; knobs choose layouts and tile."""

    name = "conv2d_transpose.x86"

    def applies(self, task: Task) -> bool:
        """Floats of at most 32 bits, constant filters, of which groups have at least four."""
        workload = task.workload
        filters, _, _ = group_of(task)
        grouped = workload.attributes["groups"] > 1
        return (
            computes_in_float32(task)
            and workload.inputs[1].role == "constant"
            and (not grouped or largest_divisor(filters, lanes(task)) >= 4)
        )

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Blocks of the layouts, the register tile, input channels that are unrolled."""
        knobs = Knobs(self.name)
        block_ic = knobs.define_knob("block_ic", self._input_blocks(task))
        knobs.define_knob("block_oc", output_blocks(task))
        vectors = knobs.define_knob("vectors", self._vectors(task))
        columns = knobs.define_knob("columns", self._columns(task))
        unroll_ic = knobs.define_knob("unroll_ic", [1, 2, 4])
        knobs.constrain(unroll_ic <= block_ic)
        knobs.constrain(columns * vectors + vectors + 1 <= registers(task) - 1)
        knobs.constrain(columns * vectors >= self._fewest_sums(task))
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity | None:
        """The tile with most sums of two vectors of filters, of any number where those are few.

        None, which leaves it to derived schedules, where filters fill a quarter of the lanes at
        most: with vectors of pixels a network is faster, though its layout has to be changed.
        """
        filters, _, _ = group_of(task)
        if task.workload.attributes["groups"] == 1 and 4 * filters <= lanes(task):
            return None
        fewest = self._fewest_sums(task)
        columns, vectors = max(
            (tile for tile in self._tiles(task) if tile[0] * tile[1] >= fewest),
            key=lambda tile: (tile[1] == 2, tile[0] * tile[1], tile),
        )
        return ConfigEntity(
            self.name,
            {
                "block_ic": self._input_blocks(task)[0],
                "block_oc": output_blocks(task)[0],
                "vectors": vectors,
                "columns": columns,
                "unroll_ic": 1,
            },
        )

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Blocked images; filters of a tile side by side."""
        block_ic, output = config["block_ic"], blocked(config["block_oc"])
        inner = config["vectors"] * min(lanes(task), config["block_oc"])
        channels = f"{block_ic}i" if block_ic > 1 else ""
        filters = widened_filters(task, f"OIHW{channels}" + (f"{inner}o" if inner > 1 else ""))
        epilogue = epilogue_layouts(task, 2, output)
        return Layouts((blocked(block_ic), filters, *epilogue), (output,), constants(task))

    def passes(self, task: Task, config: ConfigEntity) -> Sequence[ProgramPass]:
        """What lies outside of the image or the filters is neither read nor added."""
        del task, config
        return [skip_neutral_terms]

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Residues around rows of tiles, the sum over channels and taps inside."""
        final, total = schedule.dag.outputs[0].name, "sums"
        s = schedule.inline("pad") if "pad" in schedule.stages else schedule
        s = inlined_behind(s, total)
        width = min(lanes(task), config["block_oc"])
        down, along = task.workload.attributes["strides"]
        n, c, h, w = s.loops(final)
        s = s.split(final, c, [config["vectors"], width])
        s = s.split(final, h, [down]).split(final, w, [config["columns"], along])
        around = [n, f"{c}.0", f"{h}.1", f"{w}.2", f"{h}.0"]
        s = s.reorder(final, [*around, f"{w}.0", f"{w}.1", f"{c}.1", f"{c}.2"])
        s = s.unroll(final, f"{w}.1", f"{c}.1").vectorize(final, f"{c}.2")
        s = s.compute_at(total, final, f"{w}.0", "register")
        s, one = fused(s, final, around)
        s = s.parallel(final, one)
        n, c, rh, rw, qh, qw, ic, kh, kw = s.loops(total)
        s = s.split(total, c, [width]).split(total, ic, [config["block_ic"]])
        s = s.split(total, f"{ic}.1", [config["unroll_ic"]])
        inside = [f"{ic}.1.1", n, rh, rw, qh, qw, f"{c}.0"]
        s = s.reorder(total, [f"{ic}.0", kh, kw, f"{ic}.1.0", *inside, f"{c}.1"])
        return s.unroll(total, *inside).vectorize(total, f"{c}.1")

    def _input_blocks(self, task: Task) -> list[int]:
        _, channels, _ = group_of(task)
        return [1] if channels < _NARROW else channel_blocks(channels, lanes(task))

    def _vectors(self, task: Task) -> list[int]:
        """Numbers of vectors of filters that divide those of a group."""
        filters, _, _ = group_of(task)
        vectors = -(-filters // min(lanes(task), output_blocks(task)[0]))
        return [n for n in _VECTORS if vectors % n == 0]

    def _columns(self, task: Task) -> list[int]:
        """Widths of tiles, in pixels of one residue: those with which the fewest make a row."""
        along = task.workload.attributes["strides"][1]
        places = -(-self.operators.output(task.workload).shape[3] // along)
        limit, found = registers(task) - 1, set()
        for vectors in self._vectors(task):
            most = min((limit - 1 - vectors) // vectors, places)
            found.add(-(-places // -(-places // most)))
            found.add(largest_divisor(places, most))
        return sorted(found)

    def _fewest_sums(self, task: Task) -> int:
        """Of a register tile: enough to hide the latency of an addition, where that many fit."""
        return min(CHAINS, max(columns * vectors for columns, vectors in self._tiles(task)))

    def _tiles(self, task: Task) -> list[tuple[int, int]]:
        """(columns, vectors) of the register tiles that fit the registers."""
        return [
            (columns, vectors)
            for columns in self._columns(task)
            for vectors in self._vectors(task)
            if columns * vectors + vectors + 1 <= registers(task) - 1
        ]


make = Conv2dTranspose
