"""A convolution with 3x3 filters by Winograd's F(m x m, 3 x 3), as a compute DAG.

Tiles of the image are transformed, one product of matrices for each of their elements adds up over
channels, and the results are transformed back. Filters were transformed at compile time (Lavin and
Gray, CVPR 2016).

With a dilation, every so many rows and columns are an image of their own. Of volumes, each plane of
the result is an image, and the planes that it takes are channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import add

from tilewright.vocabulary.workload import Workload
from tilewright_tensor.algorithms.matrix_product import MatrixProduct, Padded
from tilewright_tensor.algorithms.terms_inside import terms_inside
from tilewright_tensor.expressions.affine import Index
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
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.ir.dag import compute
from tilewright_tensor.layouts.winograd import TAPS, Winograd


@dataclass(frozen=True, slots=True)
class WinogradConvolution:
    """F(outputs x outputs, 3 x 3) of an image or volume in a layout.

    image, result   shapes [N, C, H, W] or [N, C, D, H, W]
    padding         margins before it, an axis each of the last two or three
    dilation        of rows and of columns
    planes          of the volume that a plane of the result takes; 1 of images
    """

    outputs: int
    layout: str
    image: tuple[int, ...]
    result: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, int] = (1, 1)
    planes: int = 1

    @classmethod
    def of(
        cls, outputs: int, layout: str, anchor: Workload, result: tuple[int, ...]
    ) -> WinogradConvolution:
        """Of a conv2d or conv3d that it serves, and the shape of its result."""
        data, weight, attributes = *anchor.inputs[:2], anchor.attributes
        padding = tuple(attributes["padding"][: len(result) - 2])
        height, width = attributes["dilation"][-2:]
        planes = prod(weight.shape[2:-2])
        return cls(outputs, layout, data.shape, result, padding, (height, width), planes)

    @staticmethod
    def serves(workload: Workload, *, dilated: bool = False) -> bool:
        """float32, constant 3x3 filters, strides 1, no groups.

        Rows and columns may have a dilation where `dilated` is set.
        """
        attributes, weight = workload.attributes, workload.inputs[1]
        others = attributes["dilation"][:-2] if dilated else attributes["dilation"]
        return (
            all(spec.dtype == "float32" for spec in workload.inputs)
            and weight.role == "constant"
            and weight.shape[-2:] == (TAPS, TAPS)
            and attributes["groups"] == 1
            and {*attributes["strides"], *others} == {1}
        )

    @property
    def matrices(self) -> Winograd:
        return Winograd.of(self.outputs)

    @property
    def filters(self) -> str:
        """Layout of the transformed filters."""
        return f"winograd{self.outputs}:ABIO"

    @property
    def tiles(self) -> tuple[int, int]:
        """Tiles of an image, down and across: of every so many rows and columns as many."""
        down, across = (
            -(-extent // (self.outputs * step)) * step
            for extent, step in zip(self.result[-2:], self.dilation, strict=True)
        )
        return down, across

    @property
    def images(self) -> int:
        """Of the result: planes of volumes."""
        return prod((self.result[0], *self.result[2:-2]))

    @property
    def channels(self) -> int:
        """What the products add up."""
        return self.image[1] * self.planes

    @property
    def places(self) -> int:
        """Tiles of all images."""
        return self.images * self.tiles[0] * self.tiles[1]

    @property
    def saves(self) -> bool:
        """Whether tiles of dilated images, which the last ones may fill little of, save products.

        The direct algorithm leaves out those with zeros of the margins. Without a dilation, true:
        small images aside, they do.
        """
        if self.dilation == (1, 1):
            return True
        axes = zip(self.image[-2:], self.result[-2:], self.padding[-2:], self.dilation, strict=True)
        inside = prod(
            terms_inside(TAPS, extent, outputs, before=before, dilation=step)
            for extent, outputs, before, step in axes
        )
        return self.matrices.inputs**2 * self.places < self.images * inside

    def product(self, factors: Sequence[Tensor] = ()) -> MatrixProduct:
        """For each element of a tile: filters by places, or places by filters.

        The factors are filters and tiles; none are needed to plan the product.
        """
        size, channels, filters = self.matrices.inputs, self.channels, self.result[1]

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
        places = (self.channels, self.places)

        def pixel(i: Axis, j: Axis, c: Axis, p: Axis) -> Value:
            n = p // (down * across) if self.images > 1 else 0
            row = p // across % down if self.images > 1 else p // across
            begin = self._first(row, 0), self._first(p % across, 1)
            source = [
                first + within * step
                for first, within, step in zip(begin, (i, j), self.dilation, strict=True)
            ]
            channel: Index = c
            if len(self.image) == 5:
                depth = self.result[2]
                source.insert(0, n % depth + c // self.image[1])
                n, channel = n // depth, c % self.image[1]
            source = [one - before for one, before in zip(source, self.padding, strict=True)]
            inside: list[Value] = []
            for one, extent in zip(source, self.image[2:], strict=True):
                inside += [ge(one, 0), lt(one, extent)]
            return select(logical_and(*inside), data[n, channel, *source], 0.0)

        shape, pairs = (size, *places), (size // 2, 2)
        image = compute("image", (size, *shape), pixel)
        row_parts = compute(
            "row_parts",
            (*pairs, *shape),
            lambda k, e, j, c, p: self._part(k, e, lambda i: image[i, j, c, p]),
        )
        rows = compute(
            "rows",
            (size, *shape),
            lambda a, j, c, p: self._transformed(a, lambda k, e: row_parts[k, e, j, c, p]),
        )
        tile_parts = compute(
            "tile_parts",
            (size, *pairs, *places),
            lambda a, k, e, c, p: self._part(k, e, lambda j: rows[a, j, c, p]),
        )
        tiles = compute(
            "tiles",
            (size, *shape),
            lambda a, b, c, p: self._transformed(b, lambda k, e: tile_parts[a, k, e, c, p]),
        )
        product = self.product((weight, tiles)).computed(padded)
        return self._back(product)

    def _back(self, product: Tensor) -> Tensor:
        size, (down, across) = self.matrices.inputs, self.tiles
        columns_are_filters = self.layout == "NHWC"

        def result(a: Axis, b: Axis, oc: Axis, p: Axis) -> Value:
            m, n = (p, oc) if columns_are_filters else (oc, p)
            return product[a * size + b, m, n]

        places, pairs = (self.result[1], self.places), (size // 2 - 1, 2)
        results = compute("results", (size, size, *places), result)
        row_parts = compute(
            "result_row_parts",
            (*pairs, size, *places),
            lambda k, e, b, oc, p: _sum_or_difference(
                e, lambda n: results[2 * k + 2 + n, b, oc, p]
            ),
        )
        rows = compute(
            "result_rows",
            (self.outputs, size, *places),
            lambda x, b, oc, p: self._output(
                x, lambda a: results[a, b, oc, p], lambda k, e: row_parts[k, e, b, oc, p]
            ),
        )
        parts = compute(
            "output_parts",
            (self.outputs, *pairs, *places),
            lambda x, k, e, oc, p: _sum_or_difference(e, lambda n: rows[x, 2 * k + 2 + n, oc, p]),
        )
        outputs = compute(
            "outputs",
            (self.outputs, self.outputs, *places),
            lambda x, y, oc, p: self._output(
                y, lambda b: rows[x, b, oc, p], lambda k, e: parts[x, k, e, oc, p]
            ),
        )

        def element(n: Axis, oc: Axis, *place: Axis) -> Value:
            *planes, oh, ow = place
            image: Index = n
            for plane in planes:
                image = image * self.result[2] + plane
            (row, a), (column, b) = self._within(oh, 0), self._within(ow, 1)
            return outputs[a, b, oc, (image * down + row) * across + column]

        return compute(f"conv{len(self.result) - 2}d", self.result, element)

    def _first(self, tile: Index, axis: int) -> Index:
        """The first pixel that a row or column of tiles takes, margins included."""
        step = self.dilation[axis]
        if step == 1:
            return tile * self.outputs
        return tile // step * (self.outputs * step) + tile % step

    def _within(self, at: Axis, axis: int) -> tuple[Index, Index]:
        """The row or column of tiles that a pixel of the result is in, and its number there."""
        step, size = self.dilation[axis], self.outputs
        if step == 1:
            return at // size, at % size
        return at // (size * step) * step + at % step, at // step % size

    def _part(self, pair: Axis, part: Axis, element: Callable[[Index], Value]) -> Value:
        """Of rows that share their sums: those of 0 and of infinity, or what both rows share.

        The second part of a pair that differs in sign is added to the first and subtracted.
        """
        matrices = self.matrices
        ends = _combined(matrices.ends, lambda n: element(2 * n + part))
        shared = [
            _combined(matrices.shared(number), lambda n: element(2 * n + 2 - part))
            for number in range(len(matrices.points))
        ]
        return _chosen(pair, [ends, *shared])

    def _transformed(self, row: Axis, part: Callable[[Index, Index], Value]) -> Value:
        """A row of B^T times the elements of which `part` gives the parts."""
        signed = [Const(sign * p) for p in self.matrices.points for sign in (1, -1)]
        both = part(row // 2, 0) + _chosen(row - 2, signed) * part(row // 2, 1)
        return select(lt(row, 2), part(0, row % 2), both)

    def _output(
        self, number: Axis, element: Callable[[int], Value], part: Callable[[int, int], Value]
    ) -> Value:
        """A row of A^T times the elements, of which `part` gives sums and differences."""
        points, last = self.matrices.points, self.outputs - 1
        rows = []
        for power in range(self.outputs):
            alone = [element(end) for end, at in enumerate((0, last)) if power == at]
            both = [_times(p**power, part(k, power % 2)) for k, p in enumerate(points)]
            rows.append(reduce(add, alone + both))
        return _chosen(number, rows)


def _combined(factors: Sequence[float], element: Callable[[int], Value]) -> Value:
    """The sum of the elements times their factors."""
    return reduce(add, (_times(factor, element(n)) for n, factor in enumerate(factors)))


def _times(factor: float, value: Value) -> Value:
    return value if factor == 1 else value * Const(factor)


def _sum_or_difference(part: Axis, element: Callable[[int], Value]) -> Value:
    return select(eq(part, 0), element(0) + element(1), element(0) - element(1))


def _chosen(index: Index, values: Sequence[Value]) -> Value:
    """The value of that number; loops that vary the index are to be unrolled."""
    *others, value = values
    for number in reversed(range(len(others))):
        value = select(eq(as_value(index), number), others[number], value)
    return value
