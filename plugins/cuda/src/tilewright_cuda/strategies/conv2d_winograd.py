"""3x3 convolutions by Winograd's F(2x2) and F(4x4): transforms around a batch of matrix products.

Three launches: tiles of the image are transformed, one product for each of their elements adds up
over channels, and the results are transformed back, epilogue included. Filters were transformed at
compile time (Lavin and Gray, CVPR 2016).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.strategies.strategy import variant_of
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.layouts import Layouts
from tilewright.vocabulary.task import Task
from tilewright_cuda.program.arch import arch_of
from tilewright_cuda.strategies.tiles.adoption import block, nearest, of_thread, template_of
from tilewright_cuda.strategies.tiles.image_layouts import IMAGE_LAYOUTS
from tilewright_cuda.strategies.tiles.thread_loops import over_threads
from tilewright_cuda.strategies.tiles.tile import Tile, define_tile, fallback_tile
from tilewright_tensor.algorithms.matrix_product import MatrixProduct, Padded
from tilewright_tensor.expressions.affine import Affine
from tilewright_tensor.expressions.expr import (
    Const,
    Value,
    as_value,
    eq,
    ge,
    logical_and,
    lt,
    select,
)
from tilewright_tensor.ir.dag import Axis, Dag, Tensor, compute
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.layouts.winograd import TAPS, Matrix, Winograd
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import inlined_behind
from tilewright_tensor.strategies.tensor_schedule import (
    TensorSchedule,
    constants,
    epilogue_layouts,
    is_float32,
)

_OUTPUTS = (2, 4)
_BLOCKS = (64, 128, 256)


class Conv2dWinograd(TensorSchedule):
    """3x3 convolutions of stride 1; an alternative a size of tiles and a layout."""

    name = "conv2d_winograd.cuda"

    def applies(self, task: Task) -> bool:
        """float32, constant 3x3 filters, strides and dilation 1, no groups."""
        attributes, weight = task.workload.attributes, task.workload.inputs[1]
        return (
            is_float32(task)
            and weight.role == "constant"
            and weight.shape[2:] == (TAPS, TAPS)
            and attributes["groups"] == 1
            and {*attributes["strides"], *attributes["dilation"]} == {1}
        )

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

    def adopt(self, task: Task, foreign: ConfigEntity) -> ConfigEntity | None:
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

    def variant(self, task: Task, config: ConfigEntity) -> tuple[_Form, Padded]:
        """Size of the tiles, layout, and padded extents of the products."""
        form = self._form(task, *_variant(config))
        return form, Tile.of(config.values).padded(form.product())

    def dag(self, task: Task, variant: tuple[_Form, Padded]) -> Dag:
        """Transforms and products."""
        form, padded = variant
        return self.operators.compute_dag(
            task.workload,
            lambda tensors, _: form.computed(tensors, padded),
            {1: Layout.parse(form.filters).transformed_shape(task.workload.inputs[1].shape)},
        )

    def start(self, task: Task, variant: tuple[_Form, Padded]) -> Schedule:
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
        for stage in ("rows", "image"):
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
        for stage in ("outputs", "result_rows", "results"):
            s = _in_registers(s, stage, final, thread)
        return s

    def _form(self, task: Task, outputs: int, layout: str) -> _Form:
        anchor = task.workload.anchor
        shape = self.operators.output(anchor).shape
        return _Form(
            outputs, layout, anchor.inputs[0].shape, shape, tuple(anchor.attributes["padding"][:2])
        )


@dataclass(frozen=True, slots=True)
class _Form:
    """F(outputs x outputs, 3 x 3) of an image in a layout, margins before it as `padding` says."""

    outputs: int
    layout: str
    image: tuple[int, ...]
    result: tuple[int, ...]
    padding: tuple[int, ...]

    @property
    def matrices(self) -> Winograd:
        return Winograd.of(self.outputs)

    @property
    def filters(self) -> str:
        """Layout of the transformed filters."""
        return f"winograd{self.outputs}:ABIO"

    @property
    def tiles(self) -> tuple[int, int]:
        """Tiles of an image, down and across."""
        return -(-self.result[2] // self.outputs), -(-self.result[3] // self.outputs)

    @property
    def places(self) -> int:
        """Tiles of all images."""
        return self.image[0] * self.tiles[0] * self.tiles[1]

    def product(self, factors: Sequence[Tensor] = ()) -> MatrixProduct:
        """For each element of a tile: filters by places, or places by filters.

        The factors are filters and tiles; none are needed to plan the product.
        """
        size, channels, filters = self.matrices.inputs, self.image[1], self.result[1]

        def of_filters(b: Axis, c: Axis, oc: Axis) -> Value:
            return factors[0][b // size, b % size, c, oc]

        def of_tiles(b: Axis, c: Axis, p: Axis) -> Value:
            return factors[1][b // size, b % size, c, p]

        if self.layout == "NHWC":
            return MatrixProduct(
                size * size, self.places, filters, channels,
                lambda b, p, c: of_tiles(b, c, p), of_filters,
                left_runs=channels, left_along_depth=True, right_runs=filters,
            )  # fmt: skip
        return MatrixProduct(
            size * size, filters, self.places, channels,
            lambda b, oc, c: of_filters(b, c, oc), of_tiles,
            left_runs=filters, right_runs=self.places,
        )  # fmt: skip

    def computed(self, tensors: Sequence[Tensor], padded: Padded) -> Tensor:
        """The convolution."""
        data, weight = tensors
        size, (down, across) = self.matrices.inputs, self.tiles
        places = (self.image[1], self.places)

        def pixel(i: Axis, j: Axis, c: Axis, p: Axis) -> Value:
            n = p // (down * across) if self.image[0] > 1 else 0
            row = p // across % down if self.image[0] > 1 else p // across
            source = [
                at * self.outputs + within - before
                for at, within, before in zip((row, p % across), (i, j), self.padding, strict=True)
            ]
            inside: list[Value] = []
            for one, extent in zip(source, self.image[2:], strict=True):
                inside += [ge(one, 0), lt(one, extent)]
            return select(logical_and(*inside), data[n, c, source[0], source[1]], 0.0)

        image = compute("image", (size, size, *places), pixel)
        rows = compute(
            "rows",
            (size, size, *places),
            lambda a, j, c, p: _combined(self.matrices.data, a, lambda i: image[i, j, c, p]),
        )
        tiles = compute(
            "tiles",
            (size, size, *places),
            lambda a, b, c, p: _combined(self.matrices.data, b, lambda j: rows[a, j, c, p]),
        )
        product = self.product((weight, tiles)).computed(padded)
        return self._back(product)

    def _back(self, product: Tensor) -> Tensor:
        size, (down, across) = self.matrices.inputs, self.tiles
        columns_are_filters = self.layout == "NHWC"

        def result(a: Axis, b: Axis, oc: Axis, p: Axis) -> Value:
            m, n = (p, oc) if columns_are_filters else (oc, p)
            return product[a * size + b, m, n]

        places = (self.result[1], self.places)
        results = compute("results", (size, size, *places), result)
        rows = compute(
            "result_rows",
            (self.outputs, size, *places),
            lambda x, b, oc, p: _combined(self.matrices.result, x, lambda a: results[a, b, oc, p]),
        )
        outputs = compute(
            "outputs",
            (self.outputs, self.outputs, *places),
            lambda x, y, oc, p: _combined(self.matrices.result, y, lambda b: rows[x, b, oc, p]),
        )

        def element(n: Axis, oc: Axis, oh: Axis, ow: Axis) -> Value:
            m = self.outputs
            p = (n * down + oh // m) * across + ow // m
            return outputs[oh % m, ow % m, oc, p]

        return compute("conv2d", self.result, element)


def _combined(matrix: Matrix, row: Axis, element: Callable[[Affine], Value]) -> Value:
    """Row number `row` of the matrix times the elements; loops over rows are to be unrolled."""
    elements = [element(Affine((), number)) for number in range(len(matrix[0]))]
    rows = []
    for factors in matrix:
        terms = [
            one if factor == 1 else one * Const(factor)
            for one, factor in zip(elements, factors, strict=True)
            if factor
        ]
        rows.append(reduce(lambda x, y: x + y, terms))
    *others, value = rows
    at = as_value(row)
    for number in reversed(range(len(others))):
        value = select(eq(at, number), others[number], value)
    return value


def _in_registers(s: Schedule, stage: str, consumer: str, loop: str) -> Schedule:
    s = s.unroll(stage, *s.loops(stage))
    return s.compute_at(stage, consumer, loop, "register")


def _variant(config: ConfigEntity) -> tuple[int, str]:
    """(outputs of a tile along an axis, layout of images)."""
    form, _, layout = variant_of(config.strategy).partition("-")
    return int(form[1:]), layout


make = Conv2dWinograd
