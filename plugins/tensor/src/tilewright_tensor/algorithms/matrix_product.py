"""The product of matrices inside a convolution, a dense layer or a matmul, on padded tiles.

Rows, columns and depth are rounded up to whole tiles, and what lies beyond is zero: masks in the
loads from memory stand where other templates want divisors (Ding et al., Hidet, ASPLOS 2023).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright_tensor.expressions.affine import Affine
from tilewright_tensor.expressions.expr import Value, logical_and, lt, select
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.ir.dag import compute, reduce_axis, reduce_sum

Element = Callable[[Axis, Axis, Axis], Value]


@dataclass(frozen=True, slots=True)
class Padded:
    """Extents of a product in whole tiles; the depth is that of each of its parts."""

    rows: int
    columns: int
    part: int
    parts: int


@dataclass(frozen=True, slots=True)
class MatrixProduct:
    """`product[b, m, n]`: the sum over k of `left[b, m, k] * right[b, k, n]`.

    left, right   elements of the factors, within the true extents
    result        the operator's output, made of the product; without it, the product itself
    batch_axes, row_axes, column_axes
                  axes of the output, in the order in which b, m and n count them; where the
                  schedule splits some first, its loops
    column_runs, left_runs, right_runs
                  elements that lie together in memory from any multiple of their number on: along
                  n in the output; of the left factor along m, or along k where
                  `left_along_depth`; of the right one along n, or along k where
                  `right_along_depth`
    present       conditions on b and k for a term to exist; none of the others is read or added
    """

    batch: int
    rows: int
    columns: int
    depth: int
    left: Element
    right: Element
    result: Callable[[Tensor], Tensor] = lambda product: product
    batch_axes: tuple[int, ...] = ()
    row_axes: tuple[int, ...] = ()
    column_axes: tuple[int, ...] = ()
    column_runs: int = 1
    left_runs: int = 1
    right_runs: int = 1
    left_along_depth: bool = False
    right_along_depth: bool = False
    present: Callable[[Axis, Axis | Affine], Sequence[Value]] = lambda *_: ()

    def padded(self, rows: int, columns: int, depth: int, parts: int = 1) -> Padded:
        """The extents in whole tiles of so many rows, columns and steps, the depth in parts."""
        return Padded(
            _rounded(self.rows, rows),
            _rounded(self.columns, columns),
            _rounded(-(-self.depth // parts), depth),
            parts,
        )

    def computed(self, padded: Padded) -> Tensor:
        """The output by way of `left`, `right`, with split depth `partial`, and `product`."""
        rows, columns, part = padded.rows, padded.columns, padded.part
        depth = part * padded.parts

        def left(b: Axis, k: Axis, m: Axis) -> Value:
            inside = _inside((k, self.depth, depth), (m, self.rows, rows))
            return _where([*inside, *self.present(b, k)], self.left(b, m, k))

        def right(b: Axis, k: Axis, n: Axis) -> Value:
            inside = _inside((k, self.depth, depth), (n, self.columns, columns))
            return _where([*inside, *self.present(b, k)], self.right(b, k, n))

        one = compute("left", (self.batch, depth, rows), left)
        other = compute("right", (self.batch, depth, columns), right)

        def term(b: Axis, k: Axis | Affine, m: Axis, n: Axis) -> Value:
            return _where(self.present(b, k), one[b, k, m] * other[b, k, n])

        k = reduce_axis(part, "k")
        shape = (self.batch, rows, columns)
        if padded.parts == 1:
            return self.result(
                compute("product", shape, lambda b, m, n: reduce_sum(term(b, k, m, n), k))
            )
        partial = compute(
            "partial",
            (padded.parts, *shape),
            lambda s, b, m, n: reduce_sum(term(b, s * part + k, m, n), k),
        )
        s = reduce_axis(padded.parts, "s")
        return self.result(
            compute("product", shape, lambda b, m, n: reduce_sum(partial[s, b, m, n], s))
        )


def _rounded(extent: int, block: int) -> int:
    return -(-extent // block) * block


def _inside(*limits: tuple[Axis, int, int]) -> list[Value]:
    """That every axis is within its true extent, where it goes beyond."""
    return [lt(axis, true) for axis, true, padded in limits if true < padded]


def _where(conditions: Sequence[Value], value: Value) -> Value:
    """The value where all conditions hold, else zero."""
    return select(logical_and(*conditions), value, 0.0) if conditions else value
