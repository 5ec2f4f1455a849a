"""A 3x3 convolution by Winograd's F(m x m, 3 x 3), as a compute DAG.

Tiles of the image are transformed, one product of matrices for each of their elements adds up over
channels, and the results are transformed back. Filters were transformed at compile time (Lavin and
Gray, CVPR 2016).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from tilewright.vocabulary.workload import Workload
from tilewright_tensor.algorithms.matrix_product import MatrixProduct, Padded
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
    """F(outputs x outputs, 3 x 3) of an image in a layout, margins before it as `padding` says."""

    outputs: int
    layout: str
    image: tuple[int, ...]
    result: tuple[int, ...]
    padding: tuple[int, ...]

    @classmethod
    def of(
        cls, outputs: int, layout: str, anchor: Workload, result: tuple[int, ...]
    ) -> WinogradConvolution:
        """Of a conv2d that it serves, and the shape of its result."""
        padding = tuple(anchor.attributes["padding"][:2])
        return cls(outputs, layout, anchor.inputs[0].shape, result, padding)

    @staticmethod
    def serves(workload: Workload) -> bool:
        """float32, constant 3x3 filters, strides and dilation 1, no groups."""
        attributes, weight = workload.attributes, workload.inputs[1]
        return (
            all(spec.dtype == "float32" for spec in workload.inputs)
            and weight.role == "constant"
            and weight.shape[2:] == (TAPS, TAPS)
            and attributes["groups"] == 1
            and {*attributes["strides"], *attributes["dilation"]} == {1}
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

        def element(n: Axis, oc: Axis, oh: Axis, ow: Axis) -> Value:
            m = self.outputs
            p = (n * down + oh // m) * across + ow // m
            return outputs[oh % m, ow % m, oc, p]

        return compute("conv2d", self.result, element)

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
