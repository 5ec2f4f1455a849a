"""3x3 convolutions by Winograd's F(2x2, 3x3) and F(4x4, 3x3), one block of tiles at a time.

A thread transforms the tiles of a block, multiplies each of their points with the filters, which
were transformed at compile time, and transforms the products back into the output, epilogue
included. All that is between stays in its second-level cache (Lavin and Gray, CVPR 2016; in blocks,
Jia et al., PPoPP 2018). The products are those of register tiles: rows of tiles times vectors of
filters.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.strategies.strategy import variant_of
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.algorithms.winograd_convolution import WinogradConvolution
from tilewright_tensor.ir.dag import Dag
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.lowering.program_pass import ProgramPass
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused, inlined_behind
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    constants,
    epilogue_layouts,
)
from tilewright_x86.machine.isa import isa_of
from tilewright_x86.passes.next_reads import fetch_next_panel
from tilewright_x86.strategies.tiles.vector_blocks import blocked, channel_blocks, lanes
from tilewright_x86.strategies.winograd.tile_blocks import TileBlocks

_OUTPUTS = (2, 4)
_FEWEST_TILES, _FEWEST_VECTORS, _FEWEST_CHANNELS = 12, 2, 16
"""That make it worth while for sure; vectors of channels and of filters, but so many at least."""
_UNROLLED = 1, 2, 4
_MOST_CHANNELS = 4096
"""More leave no room for the tiles of a block."""


class Conv2dWinograd(ScheduledImplementation):
    """3x3 convolutions of stride 1; an alternative a size of tiles.

    axes    letters of the image's spatial axes
    """

    name = "conv2d_winograd.x86"
    axes = "HW"

    def applies(self, task: Task) -> bool:
        """float32, constant 3x3 filters, strides 1, no groups, no dilation that tiles lose by."""
        workload = task.workload
        return (
            WinogradConvolution.serves(workload, dilated=True)
            and prod(workload.inputs[1].shape[1:-2]) <= _MOST_CHANNELS
            and bool(self._sizes(task))
        )

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Blocks of tiles and of filters with the register tile inside, unrolling, prefetches."""
        return [self._alternative(task, outputs) for outputs in self._sizes(task)]

    def operations_of(self, task: Task, alternative: str) -> int:
        """Those of the products: tiles times points, channels and filters."""
        form = self._form(task, _outputs(alternative))
        product = form.product()
        return 2 * product.batch * product.rows * product.columns * product.depth

    def fallback(self, task: Task) -> ConfigEntity | None:
        """That of the products that take least, in blocks that promise most; none where few do.

        With few channels or filters the transforms take what the products save; with few tiles a
        core waits for filters, of which F(4x4) has four times the direct ones. Without AVX-512 four
        channels at a time gain 7 to 10 % (Zen 3); with it as much is lost on Zen 4.
        """
        many = [n for n in self._sizes(task) if self._form(task, n).places >= _FEWEST_TILES]
        fewest = max(_FEWEST_CHANNELS, _FEWEST_VECTORS * lanes(task))
        if not many or min(task.workload.inputs[1].shape[:2]) < fewest:
            return None
        outputs = min(many, key=lambda n: self._blocks(task, n).products)
        alternative = self._alternative(task, outputs)
        values = self._blocks(task, outputs).usual(alternative)
        unroll = 1 if isa_of(task.target).vector_bits == 512 else max(self._unrolled(task))
        return ConfigEntity(
            alternative.name, {**values, "unroll_ic": unroll, "prefetch": "filters"}
        )

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Images in blocks of a vector; filters transformed, in the order of their products."""
        form = self._form(task, _outputs(config.strategy))
        image, output = (
            blocked(channel_blocks(shape[1], lanes(task))[0], self.axes)
            for shape in (form.image, form.result)
        )
        panel = config["tile_oc"][-1] * self._blocks(task, form.outputs).width
        _, blocks, _, _ = config["tile_oc"]
        # in the order in which they are multiplied
        order = "ABOI" if blocks == 1 else "OABI"
        filters = f"winograd{form.outputs}:{order}" + (f"{panel}o" if panel > 1 else "")
        epilogue = epilogue_layouts(task, 2, output)
        return Layouts((image, filters, *epilogue), (output,), constants(task))

    def variant(self, task: Task, config: ConfigEntity) -> int:
        """Outputs of a tile along an axis."""
        return _outputs(config.strategy)

    def passes(self, task: Task, config: ConfigEntity) -> Sequence[ProgramPass]:
        """Prefetches of filters."""
        _, tiles, rows = config["tile_p"]
        return [fetch_next_panel(rows, tiles)] if config["prefetch"] == "filters" else []

    def dag(self, task: Task, variant: int) -> Dag:
        """Transforms and products, as many of them as there are tiles."""
        form = self._form(task, variant)
        product = form.product()
        return self.operators.compute_dag(
            task.workload,
            lambda tensors, _: form.computed(tensors, product.padded(1, 1, 1)),
            {1: Layout.parse(form.filters).transformed_shape(task.workload.inputs[1].shape)},
        )

    def start(self, task: Task, variant: int) -> Schedule:
        """The two transforms, and the products between."""
        s = inlined_behind(super().start(task, variant), "outputs")
        for stage in ("left", "right", "results"):
            s = s.inline(stage)
        return s

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """One parallel loop over blocks of tiles, and over parts of the filters."""
        outputs = _outputs(config.strategy)
        form, width = self._form(task, outputs), self._blocks(task, outputs).width
        s, final = schedule, schedule.dag.outputs[0].name
        # products -> image
        _, pieces, rows = config["tile_p"]
        _, around, panels, vectors = config["tile_oc"]
        n, c, *planes, h, w = s.loops(final)
        outside = [n, *planes]
        for axis, step in zip((h, w), form.dilation, strict=True):
            s = s.split(final, axis, [outputs] if step == 1 else [outputs, step])
            outside += [f"{axis}.0"] if step == 1 else [f"{axis}.0", f"{axis}.2"]
        s = s.split(final, c, [around, panels * vectors, width])
        inside = [f"{h}.1", f"{w}.1", f"{c}.3"]
        s = s.reorder(final, [*outside, f"{c}.0", f"{c}.1", f"{c}.2", *inside])
        s, p = fused(s, final, outside)
        s = s.split(final, p, [pieces * rows])
        s = s.reorder(final, [f"{c}.0", f"{p}.0", f"{c}.1", f"{c}.2", f"{p}.1"])
        s, block = fused(s, final, [f"{c}.0", f"{p}.0"])
        s = s.parallel(final, block).unroll(final, *inside[:2]).vectorize(final, inside[2])
        s = _transformed_back(s, final, f"{p}.1")
        # tiles -> products
        block_ic = channel_blocks(form.image[1], lanes(task))[0]
        s = _multiplied(s, config, width, block_ic)
        s = s.compute_at("product", final, f"{c}.1", "local")
        # image -> tiles
        s = _transformed(s, min(lanes(task), block_ic))
        return s.compute_at("tiles", final, block, "local")

    def _form(self, task: Task, outputs: int) -> WinogradConvolution:
        anchor = task.workload.anchor
        return WinogradConvolution.of(outputs, "NCHW", anchor, self.operators.output(anchor).shape)

    def _sizes(self, task: Task) -> list[int]:
        """Outputs of the tiles, along an axis, that there is something to gain by."""
        return [outputs for outputs in _OUTPUTS if self._form(task, outputs).saves]

    def _blocks(self, task: Task, outputs: int) -> TileBlocks:
        return TileBlocks.of(task, self._form(task, outputs))

    def _unrolled(self, task: Task) -> list[int]:
        """How many channels of a block may be unrolled."""
        block_ic = channel_blocks(task.workload.inputs[0].shape[1], lanes(task))[0]
        return [n for n in _UNROLLED if block_ic % n == 0]

    def _alternative(self, task: Task, outputs: int) -> Alternative:
        knobs = Knobs(f"{self.name}/F{outputs}")
        self._blocks(task, outputs).define_knobs(knobs)
        knobs.define_knob("unroll_ic", self._unrolled(task))
        knobs.define_knob("prefetch", ["none", "filters"])
        return knobs.alternative()


def _multiplied(s: Schedule, config: ConfigEntity, width: int, block_ic: int) -> Schedule:
    """Products point by point, in register tiles, with the filters of a panel for all tiles."""
    rows, vectors = config["tile_p"][-1], config["tile_oc"][-1]
    s, total = s.cache_write("product", "register"), "product.register"
    b, oc, p = s.loops("product")
    s = s.split("product", oc, [vectors, width]).split("product", p, [rows])
    inside = [f"{p}.1", f"{oc}.1"]
    s = s.reorder("product", [b, f"{oc}.0", f"{p}.0", *inside, f"{oc}.2"])
    s = s.unroll("product", *inside).vectorize("product", f"{oc}.2").overhang("product", p)
    s = s.compute_at(total, "product", f"{p}.0", "register")
    b, oc, p, c = s.loops(total)
    s = s.split(total, oc, [width]).split(total, c, [block_ic])
    s = s.split(total, f"{c}.1", [config["unroll_ic"]])
    step, unrolled = f"{c}.1.0", f"{c}.1.1"
    s = s.reorder(total, [f"{c}.0", step, unrolled, b, p, f"{oc}.0", f"{oc}.1"])
    return s.unroll(total, unrolled, b, p, f"{oc}.0").vectorize(total, f"{oc}.1")


def _transformed(s: Schedule, width: int) -> Schedule:
    """Tiles by vectors of channels, columns first."""
    a, b, c, p = s.loops("tiles")
    s = s.split("tiles", c, [width]).reorder("tiles", [p, f"{c}.0", a, b, f"{c}.1"])
    s = s.unroll("tiles", a, b).vectorize("tiles", f"{c}.1")
    s = _in_registers(s, "tile_parts", ("tiles", a), [0, 1, 2])
    s = _in_registers(s, "rows", ("tiles", f"{c}.0"), [1, 0])
    s = _in_registers(s, "row_parts", ("rows", s.loops("rows")[1]), [2, 0, 1])
    return _in_registers(s, "image", ("rows", s.loops("rows")[1]), [1, 0])


def _transformed_back(s: Schedule, final: str, loop: str) -> Schedule:
    """Rows of a tile last."""
    s = _in_registers(s, "outputs", (final, loop), [0, 1])
    s = _in_registers(s, "output_parts", ("outputs", s.loops("outputs")[1]), [0, 1, 2])
    s = _in_registers(s, "result_rows", (final, loop), [1, 0])
    return _in_registers(
        s, "result_row_parts", ("result_rows", s.loops("result_rows")[1]), [2, 0, 1]
    )


def _in_registers(
    s: Schedule, stage: str, place: tuple[str, str], order: Sequence[int]
) -> Schedule:
    """A stage for one tile and one vector, its first axes unrolled in that order."""
    *axes, channel, tile = s.loops(stage)
    unrolled = [axes[i] for i in order]
    s = s.reorder(stage, [tile, *unrolled, channel]).unroll(stage, *unrolled)
    return s.vectorize(stage, channel).compute_at(stage, *place, "register")


def _outputs(alternative: str) -> int:
    """Outputs of a tile along an axis."""
    return int(variant_of(alternative)[1:])


make = Conv2dWinograd
