"""Direct convolution by AMX: 16 pixels of a row by 16 filters a tile register, as products.

A row of the first operand is a pixel with 32 of its channels, so that the distance of rows is the
stride of the convolution and no image is unfolded. Where a row of pixels is no whole tiles, or the
image has a margin, it is copied first; the pixels beyond its end are computed and dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.expressions.expr import Read, Value, map_value
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import Dag, placeholder
from tilewright_tensor.lowering.program_pass import ProgramPass
from tilewright_tensor.operators.builtin.padding import pad_stage
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
from tilewright_x86.strategies.tiles.flat_images import flattened, is_pointwise, unflatten
from tilewright_x86.strategies.tiles.register_tile import accumulate_in_registers
from tilewright_x86.strategies.tiles.stored_formats import (
    is_float16,
    like_output,
    stored_in_bfloat16,
)
from tilewright_x86.strategies.tiles.tile_counts import SUMS, best_counts, tile_counts
from tilewright_x86.strategies.tiles.vector_blocks import blocked, channel_blocks, lanes

_PRODUCT = PRODUCTS["bfloat16", "bfloat16"]
_CHANNELS = 32
"""Of a pixel in a tile."""
_IMAGE = "image"


class Conv2dTilesBfloat16(ScheduledImplementation):
    """Convolutions in one group; knobs choose the tiles of sums and what stays in the cache."""

    name = "conv2d_tiles_bf16.x86"

    def applies(self, task: Task) -> bool:
        """float32 or bfloat16, one group, constant filters, where there is AMX for bfloat16."""
        workload = task.workload
        return (
            _PRODUCT.feature in isa_of(task.target).features
            and computes_in_float32(task)
            and not is_float16(task)
            and workload.inputs[1].role == "constant"
            and workload.attributes["groups"] == 1
        )

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Tiles of sums along a row and across filters, and the order of the loops around them."""
        width, filters = self._extents(task)
        knobs = Knobs(self.name)
        along = knobs.define_knob("tile_ow", tile_counts(width))
        across = knobs.define_knob("tile_oc", tile_counts(filters))
        knobs.define_knob("block_oc", channel_blocks(filters, 2 * ROWS))
        knobs.define_knob("outer", ["filters", "rows"])
        knobs.constrain(along * across <= SUMS)
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """The tiles that read least for a product."""
        width, filters = self._extents(task)
        along, across = best_counts(width, filters)
        return ConfigEntity(
            self.name,
            {
                "tile_ow": along,
                "tile_oc": across,
                "block_oc": channel_blocks(filters, 2 * ROWS)[0],
                "outer": "filters",
            },
        )

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Images in blocks of channels; filters in tiles of 1 KiB, padded with zeros."""
        channels = task.workload.inputs[0].shape[1]
        output = blocked(config["block_oc"])
        filters = f"OIHW{_CHANNELS // 2}i{ROWS}o2i"
        inputs = (blocked(_block(channels)), filters, *epilogue_layouts(task, 2, output))
        found = Layouts(inputs, (output,), constants(task))
        images = {0} if _block(channels) > 1 else set()
        output_dtype = self.operators.output(task.workload).dtype
        places = {1, *images, *like_output(task, found)}
        return stored_in_bfloat16(task, found, places, output_dtype)

    def viewed(self, task: Task) -> Task:
        """All rows as one, where neighbours do not matter."""
        workload = task.workload
        if not is_pointwise(workload):
            return task
        flat = flattened(workload, *workload.inputs[0].shape[2:])
        return task if flat is None else replace(task, workload=flat)

    def passes(self, task: Task, config: ConfigEntity) -> Sequence[ProgramPass]:
        """Back to rows, where they were one."""
        if self.viewed(task) is task:
            return ()
        return [unflatten(self.layouts(task, config), task.workload)]

    def dag(self, task: Task, variant: Any) -> Dag:
        """The convolution, of a copy of the image where that has a margin or a part of a tile."""

        def computed(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
            data, weight = tensors
            top, left, bottom, right = attributes["padding"]
            width, _ = self._extents(task)
            beyond = -width % ROWS * attributes["strides"][1]
            missing = -data.shape[1] % _CHANNELS
            image = pad_stage(data, [0, 0, top, left], [0, missing, bottom, right + beyond], 0.0)
            compute = self.operators.find(task.workload.operator).compute
            if image is data:
                return compute(tensors, attributes)
            image = replace(image, name=_IMAGE)
            # what lies beyond is no part of the convolution, which is as wide as it was
            shape = (*data.shape[:2], *image.shape[2:3], image.shape[3] - beyond)
            exact = placeholder(_IMAGE, shape, data.dtype)
            found = compute([exact, weight], {**attributes, "padding": (0, 0, 0, 0)})

            def leaf(value: Value) -> Value:
                if isinstance(value, Read) and value.tensor is exact:
                    return Read(image, value.indices)
                return value

            assert found.body is not None
            return replace(found, body=map_value(found.body, leaf))

        return self.operators.compute_dag(task.workload, computed)

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Blocks of sums in parallel; taps and blocks of channels around the instruction."""
        assert _PRODUCT.stores is not None
        s = schedule
        if _IMAGE in s.stages:
            s = _copied(task, s)
        s, total, final = accumulate_in_registers(s, "conv2d")
        s = s.cache_read(total, "local", [final])
        sums = f"{total}.local"

        n, c, h, w = s.loops(final)
        s = s.split(final, c, [config["tile_oc"], ROWS])
        s = s.split(final, w, [ROWS * config["tile_ow"]])
        order = [f"{c}.0", h] if config["outer"] == "filters" else [h, f"{c}.0"]
        around = [n, *order, f"{w}.0"]
        s = s.reorder(final, [*around, f"{w}.1", f"{c}.1", f"{c}.2"]).vectorize(final, f"{c}.2")
        s, one = fused(s, final, around)
        s = s.compute_at(sums, final, one, "local").compute_at(total, final, one, "fragment")

        s = s.transform_layout(sums, "NHWC").transform_layout(total, "NHWC")
        n, c, h, w = s.loops(sums)
        s = s.overhang(sums, c).overhang(sums, w)
        s = s.split(sums, c, [ROWS]).split(sums, w, [ROWS])
        s = s.reorder(sums, [n, h, f"{w}.0", f"{c}.0", f"{w}.1", f"{c}.1"])
        s = s.unroll(sums, f"{w}.0", f"{c}.0").tensorize(sums, f"{w}.1", _PRODUCT.stores)

        n, c, h, w, ic, kh, kw = s.loops(total)
        s = s.overhang(total, c).overhang(total, w).overhang(total, ic)
        s = s.split(total, c, [ROWS]).split(total, w, [ROWS])
        s = s.split(total, ic, [_CHANNELS // 2, 2])
        inside = [f"{w}.1", f"{c}.1", f"{ic}.1", f"{ic}.2"]
        s = s.reorder(total, [n, h, f"{ic}.0", kh, kw, f"{w}.0", f"{c}.0", *inside])
        s = s.unroll(total, f"{w}.0", f"{c}.0").tensorize(total, f"{w}.1", _PRODUCT)
        return s.parallel(final, one)

    def _extents(self, task: Task) -> tuple[int, int]:
        """(pixels of a row of the output, filters)."""
        shape = self.operators.output(self.viewed(task).workload).shape
        return shape[3], shape[1]


def _block(channels: int) -> int:
    """Channels of a block of the image, 1 for none."""
    return next((n for n in (_CHANNELS, ROWS) if channels % n == 0), 1)


def _copied(task: Task, schedule: Schedule) -> Schedule:
    """The image with its margin, in blocks of the channels of a tile."""
    s = schedule.transform_layout(_IMAGE, f"NCHW{_CHANNELS}c:bfloat16")
    n, c, h, w = s.loops(_IMAGE)
    s = s.split(_IMAGE, c, [_CHANNELS // lanes(task), lanes(task)])
    s = s.reorder(_IMAGE, [n, f"{c}.0", h, w, f"{c}.1", f"{c}.2"]).vectorize(_IMAGE, f"{c}.2")
    s, one = fused(s, _IMAGE, [n, f"{c}.0", h])
    return s.parallel(_IMAGE, one)


make = conv2d_tiles = Conv2dTilesBfloat16
