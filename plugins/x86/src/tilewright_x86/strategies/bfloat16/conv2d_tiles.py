"""Direct convolution by AMX: 16 pixels by 16 filters a tile register, as products.

A row of the first operand is a pixel with 32 of its terms: channels, or, of first convolutions with
few of them, columns of the kernel by channels. Pixels are one sequence over the ends of rows, see
`PixelSequence`; where the image in memory is none, it is copied first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import Dag
from tilewright_tensor.lowering.program_pass import ProgramPass
from tilewright_tensor.operators.definition.attribute import Attributes
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    computes_in_float32,
    constants,
    epilogue_layouts,
)
from tilewright_x86.instructions.tiles import PRODUCTS, ROWS
from tilewright_x86.machine.isa import isa_of
from tilewright_x86.strategies.conv2d_direct import group_of
from tilewright_x86.strategies.tiles.pixel_rows import PixelRows
from tilewright_x86.strategies.tiles.pixel_sequence import (
    IMAGE,
    MARGIN,
    TERMS,
    PixelSequence,
)
from tilewright_x86.strategies.tiles.register_tile import accumulate_in_registers
from tilewright_x86.strategies.tiles.stored_formats import (
    is_float16,
    like_output,
    stored_in_bfloat16,
)
from tilewright_x86.strategies.tiles.tile_counts import SUMS, tile_counts
from tilewright_x86.strategies.tiles.vector_blocks import blocked, channel_blocks, lanes

_PRODUCT = PRODUCTS["bfloat16", "bfloat16"]
_OUTER = ["filters", "rows"]


class Conv2dTilesBfloat16(ScheduledImplementation):
    """Convolutions by tiles; knobs choose the tiles of sums and what stays in the cache."""

    name = "conv2d_tiles_bf16.x86"

    def applies(self, task: Task) -> bool:
        """float32 or bfloat16, constant filters, where there is AMX for bfloat16.

        In one group, or in groups of which no tile has filters of two, nor terms that are mostly 0.
        """
        workload = task.workload
        filters, channels, _ = group_of(task)
        return (
            _PRODUCT.feature in isa_of(task.target).features
            and computes_in_float32(task)
            and not is_float16(task)
            and workload.inputs[1].role == "constant"
            and (
                workload.attributes["groups"] == 1
                or (filters % ROWS == 0 and 2 * channels >= TERMS)
            )
        )

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Tiles of sums along the pixels and across filters, and the order of the loops around."""
        filters, pixels = task.workload.inputs[1].shape[0], self._sequence(task)
        knobs = Knobs(self.name)
        along = knobs.define_knob("tile_ow", [*range(1, min(SUMS, pixels.tiles) + 1)])
        across = knobs.define_knob("tile_oc", tile_counts(group_of(task)[0]))
        knobs.define_knob("block_oc", channel_blocks(filters, 2 * ROWS))
        knobs.define_knob("outer", _OUTER)
        knobs.constrain(along * across <= SUMS)
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """The tiles and the order that take the fewest cycles by what they read."""
        (filters, _, _), pixels = group_of(task), self._sequence(task)
        reads = pixels.reads(filters)
        along, across, outer = min(
            (
                (along, across, outer)
                for across in tile_counts(filters)
                for along in range(1, min(SUMS // across, pixels.tiles) + 1)
                for outer in _OUTER
            ),
            key=lambda choice: reads.cycles(*choice),
        )
        return ConfigEntity(
            self.name,
            {
                "tile_ow": along,
                "tile_oc": across,
                "block_oc": channel_blocks(task.workload.inputs[1].shape[0], 2 * ROWS)[0],
                "outer": outer,
            },
        )

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Images in blocks of channels; filters in tiles of 1 KiB, padded with zeros."""
        channels, few = task.workload.inputs[1].shape[1], self._sequence(task).few
        output = blocked(config["block_oc"])
        terms = f"{TERMS // few}w{few // 2}i" if few else f"{TERMS // 2}i"
        inputs = (
            blocked(_block(channels)),
            f"OIHW{terms}{ROWS}o2i",
            *epilogue_layouts(task, 2, output),
        )
        found = Layouts(inputs, (output,), constants(task))
        images = {0} if _block(channels) > 1 else set()
        output_dtype = self.operators.output(task.workload).dtype
        places = {1, *images, *like_output(task, found)}
        return stored_in_bfloat16(task, found, places, output_dtype)

    def passes(self, task: Task, config: ConfigEntity) -> Sequence[ProgramPass]:
        """From the sequence of pixels back to rows."""
        pixels, layouts = self._sequence(task), self.layouts(task, config)
        output = self.operators.output(task.workload).shape
        rows = PixelRows(output[2], output[3], pixels.pitch, pixels.pixels)
        shapes = [*(spec.shape for spec in task.workload.inputs), output]
        return [rows.restored([*layouts.inputs, *layouts.outputs], shapes)]

    def dag(self, task: Task, variant: Any) -> Dag:
        """The convolution, of a copy of the image where pixels of it are no sequence of tiles."""
        pixels = self._sequence(task)

        def computed(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
            data, weight = tensors
            return pixels.convolution(task.workload.operator, data, weight)

        return self.operators.compute_dag(pixels.flattened(task.workload), computed)

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Blocks of sums in parallel; taps and blocks of channels around the instruction."""
        assert _PRODUCT.stores is not None
        s, pixels = schedule, self._sequence(task)
        if IMAGE in s.stages:
            s = _copied(task, s, pixels)
        s, total, final = accumulate_in_registers(s, "conv2d")
        s = s.cache_read(total, "local", [final])
        sums = f"{total}.local"

        n, c, h, w = s.loops(final)
        s = s.split(final, c, [config["tile_oc"], ROWS])
        s = s.split(final, w, [ROWS * config["tile_ow"]])
        order = [f"{c}.0", f"{w}.0"] if config["outer"] == "filters" else [f"{w}.0", f"{c}.0"]
        around = [n, h, *order]
        s = s.reorder(final, [*around, f"{w}.1", f"{c}.1", f"{c}.2"]).vectorize(final, f"{c}.2")
        s, one = fused(s.unroll(final, f"{c}.1"), final, around)
        s = s.compute_at(sums, final, one, "local").compute_at(total, final, one, "fragment")

        s = s.transform_layout(sums, "NHWC").transform_layout(total, "NHWC")
        n, c, h, w = s.loops(sums)
        s = s.overhang(sums, c).split(sums, c, [ROWS]).split(sums, w, [ROWS])
        s = s.reorder(sums, [n, h, f"{w}.0", f"{c}.0", f"{w}.1", f"{c}.1"])
        s = s.unroll(sums, f"{w}.0", f"{c}.0").tensorize(sums, f"{w}.1", _PRODUCT.stores)

        n, c, h, w, ic, kh, kw = s.loops(total)
        s = s.overhang(total, c).overhang(total, ic)
        s = s.split(total, c, [ROWS]).split(total, w, [ROWS])
        inside = [f"{w}.0", f"{c}.0", f"{w}.1", f"{c}.1"]
        if few := pixels.few:
            s = s.overhang(total, kw).split(total, kw, [TERMS // few])
            s = s.split(total, ic, [few // 2, 2])
            pairs = [f"{kw}.1", f"{ic}.1"]
            terms = [f"{ic}.0", f"{kw}.0", kh]
            s = s.reorder(total, [n, h, *terms, *inside, *pairs, f"{ic}.2"])
            s = s.fuse(total, pairs)
        else:
            s = s.split(total, ic, [TERMS // 2, 2])
            terms = [f"{ic}.0", kh, kw]
            s = s.reorder(total, [n, h, *terms, *inside, f"{ic}.1", f"{ic}.2"])
        s = s.unroll(total, f"{w}.0", f"{c}.0").tensorize(total, f"{w}.1", _PRODUCT)
        return s.parallel(final, one)

    def _sequence(self, task: Task) -> PixelSequence:
        return PixelSequence.of(task.workload, self.operators.output(task.workload).shape)


def _block(channels: int) -> int:
    """Channels of a block of the image, which a group has whole ones of; 1 for none."""
    return next((n for n in (TERMS, ROWS) if channels % n == 0), 1)


def _copied(task: Task, schedule: Schedule, pixels: PixelSequence) -> Schedule:
    """The image in blocks of terms, row by row, all that there is of a pixel at a time."""
    s = schedule.transform_layout(IMAGE, f"NCHW{TERMS}c:bfloat16")
    n, c, f, p = s.loops(IMAGE)
    s = s.split(IMAGE, c, [TERMS]).split(IMAGE, p, [pixels.pitch])
    around = [n, f"{c}.0", f, f"{p}.0"]
    s = s.reorder(IMAGE, [*around, f"{p}.1", f"{c}.1"]).vectorize(IMAGE, f"{c}.1")
    s, row = fused(s, IMAGE, around)
    if pixels.few:
        s = s.transform_layout(MARGIN, f"NCHW{pixels.few}c:bfloat16")
        s = s.compute_at(MARGIN, IMAGE, row, "local")
        s = s.cache_write(MARGIN, "register")
        n, c, h, w = s.loops(MARGIN)
        s = s.split(MARGIN, w, [lanes(task)])
        s = s.reorder(MARGIN, [n, h, f"{w}.0", f"{w}.1", c])
        s = s.unroll(MARGIN, f"{w}.1").vectorize(MARGIN, c)
        read = f"{MARGIN}.register"
        s = s.compute_at(read, MARGIN, f"{w}.0", "register")
        n, c, h, w = s.loops(read)
        s = s.reorder(read, [n, h, c, w]).unroll(read, c).vectorize(read, w)
    elif MARGIN in s.stages:
        s = s.inline(MARGIN)
    return s.parallel(IMAGE, row)


make = conv2d_tiles = Conv2dTilesBfloat16
