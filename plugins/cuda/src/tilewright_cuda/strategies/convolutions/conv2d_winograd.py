"""3x3 convolutions by Winograd's F(2x2) and F(4x4): transforms around a batch of matrix products.

Three launches: tiles of the image are transformed, one product for each of their elements adds up
over channels, and the results are transformed back, epilogue included. Filters were transformed at
compile time (Lavin and Gray, CVPR 2016).
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.strategies.strategy import variant_of
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_cuda.program.arch import arch_of
from tilewright_cuda.strategies.tiles.adoption import block, of_thread
from tilewright_cuda.strategies.tiles.image_layouts import IMAGE_LAYOUTS
from tilewright_cuda.strategies.tiles.thread_loops import over_threads
from tilewright_cuda.strategies.tiles.tile import Tile, define_tile, fallback_tile
from tilewright_tensor.algorithms.matrix_product import Padded
from tilewright_tensor.algorithms.winograd_convolution import WinogradConvolution
from tilewright_tensor.ir.dag import Dag
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.logs.autotvm_templates import template_of
from tilewright_tensor.logs.nearest import nearest
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import inlined_behind
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    constants,
    epilogue_layouts,
)

_OUTPUTS = (2, 4)
_BLOCKS = (64, 128, 256)


class Conv2dWinograd(ScheduledImplementation):
    """3x3 convolutions of stride 1; an alternative a size of tiles and a layout."""

    name = "conv2d_winograd.cuda"

    def applies(self, task: Task) -> bool:
        """float32, constant 3x3 filters, strides and dilation 1, no groups."""
        return WinogradConvolution.serves(task.workload)

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """The tile of the products, and threads of a block of the transforms."""
        found = []
        for outputs in _OUTPUTS:
            for layout in IMAGE_LAYOUTS:
                knobs = Knobs(f"{self.name}/F{outputs}-{layout}")
                product = self._form(task, outputs, layout).product()
                define_tile(knobs, product, arch_of(task.target), splits=False)
                knobs.define_knob("block", _BLOCKS)
                found.append(knobs.alternative())
        return found

    def fallback(self, task: Task) -> ConfigEntity:
        """F(2x2), whose error is the direct algorithm's, in NHWC."""
        tile = fallback_tile(
            self._form(task, 2, "NHWC").product(), arch_of(task.target), splits=False
        )
        return ConfigEntity(f"{self.name}/F2-NHWC", {**tile.values, "block": 128})

    def adopt_config(self, task: Task, foreign: ConfigEntity) -> ConfigEntity | None:
        """AutoTVM's template: its product's tile; it takes F(4x4) where 8 divides the height."""
        if template_of(foreign) != "conv2d_nchw_winograd.cuda":
            return None
        filters, pixels = foreign["tile_y"], foreign["tile_x"]
        wanted = {
            "bm": block(filters),
            "bn": block(pixels),
            "bk": block(foreign["tile_rc"]),
            "tm": of_thread(filters),
            "tn": of_thread(pixels),
        }
        outputs = 4 if task.workload.inputs[0].shape[2] % 8 == 0 else 2
        name = f"{self.name}/F{outputs}-NCHW"
        alternative = next(one for one in self.alternatives(task) if one.name == name)
        return nearest(alternative, wanted)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Images as the alternative is named; filters transformed."""
        form = self._form(task, *_variant(config))
        epilogue = epilogue_layouts(task, 2, form.layout)
        return Layouts((form.layout, form.filters, *epilogue), (form.layout,), constants(task))

    def variant(self, task: Task, config: ConfigEntity) -> tuple[WinogradConvolution, Padded]:
        """Size of the tiles, layout, and padded extents of the products."""
        form = self._form(task, *_variant(config))
        return form, Tile.of(config.values).padded(form.product())

    def dag(self, task: Task, variant: tuple[WinogradConvolution, Padded]) -> Dag:
        """Transforms and products."""
        form, padded = variant
        return self.operators.compute_dag(
            task.workload,
            lambda tensors, _: form.computed(tensors, padded),
            {1: Layout.parse(form.filters).transformed_shape(task.workload.inputs[1].shape)},
        )

    def start(self, task: Task, variant: tuple[WinogradConvolution, Padded]) -> Schedule:
        """What follows the outputs of a tile is computed where the results are stored."""
        return inlined_behind(super().start(task, variant), "outputs")

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """One launch a transform, a thread a tile, and the products between."""
        form = self._form(task, *_variant(config))
        s = Tile.of(config.values).stored(schedule, form.product(), "product")
        # image -> tiles, channels side by side where the image has them so
        if form.layout == "NHWC":
            s = s.transform_layout("tiles", "ABDC")
        a, b, c, p = s.loops("tiles")
        inner = [p, c] if form.layout == "NHWC" else [c, p]
        s = s.reorder("tiles", [*inner, a, b]).unroll("tiles", a, b)
        s, thread = over_threads(s, "tiles", inner, config["block"])
        for stage in ("tile_parts", "rows", "row_parts", "image"):
            s = _in_registers(s, stage, "tiles", thread)
        # results -> image
        final = s.dag.outputs[0].name
        n, c, h, w = s.loops(final)
        s = s.split(final, h, [form.outputs]).split(final, w, [form.outputs])
        places = [n, f"{h}.0", f"{w}.0"]
        around = [*places, c] if form.layout == "NHWC" else [n, c, *places[1:]]
        s = s.reorder(final, [*around, f"{h}.1", f"{w}.1"])
        s = s.unroll(final, f"{h}.1", f"{w}.1")
        s, thread = over_threads(s, final, around, config["block"])
        for stage in ("outputs", "output_parts", "result_rows", "result_row_parts", "results"):
            s = _in_registers(s, stage, final, thread)
        return s

    def _form(self, task: Task, outputs: int, layout: str) -> WinogradConvolution:
        anchor = task.workload.anchor
        return WinogradConvolution.of(outputs, layout, anchor, self.operators.output(anchor).shape)


def _in_registers(s: Schedule, stage: str, consumer: str, loop: str) -> Schedule:
    s = s.unroll(stage, *s.loops(stage))
    return s.compute_at(stage, consumer, loop, "register")


def _variant(config: ConfigEntity) -> tuple[int, str]:
    """(outputs of a tile along an axis, layout of images)."""
    form, _, layout = variant_of(config.strategy).partition("-")
    return int(form[1:]), layout


make = Conv2dWinograd
