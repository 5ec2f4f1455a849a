"""A 3x3 convolution by Winograd's F(m x m, 3 x 3), as a compute DAG.

Tiles of the image are transformed, one product of matrices for each of their elements adds up over
channels, and the results are transformed back. Filters were transformed at compile time (Lavin and
Gray, CVPR 2016).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

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
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.ir.dag import compute
from tilewright_tensor.layouts.winograd import Matrix, Winograd


@dataclass(frozen=True, slots=True)
class WinogradConvolution:
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
