"""A plugin with operators that nobody wrote a schedule for and that are products."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright import hookimpl
from tilewright_tensor.expressions.expr import maximum, tanh
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import compute, reduce_axis, reduce_sum
from tilewright_tensor.operators.definition.operator_def import Operand, OperatorDef
from tilewright_tensor.operators.operator import operator


def _product(left: Tensor, right: Tensor, name: str) -> Tensor:
    k = reduce_axis(left.shape[1], f"{name}_k")
    shape = left.shape[0], right.shape[1]
    return compute(name, shape, lambda i, j: reduce_sum(left[i, k] * right[k, j], k))


@operator(Operand("points", role="constant"))
def similarity(data: Tensor, points: Tensor) -> Tensor:
    """The rows come first."""
    k = reduce_axis(data.shape[1], "k")
    shape = data.shape[0], points.shape[0]
    return compute("similarity", shape, lambda i, j: reduce_sum(points[j, k] * data[i, k], k))


@operator()
def chain(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """Two products in a row."""
    return _product(_product(a, b, "first"), c, "chain")


@operator()
def perceptron(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """Two products, and something between them."""
    first = _product(a, b, "first")
    hidden = compute("hidden", first.shape, lambda i, j: tanh(first[i, j]))
    return _product(hidden, c, "perceptron")


@operator()
def prepared(a: Tensor, b: Tensor) -> Tensor:
    """An operand that is computed first."""
    positive = compute("positive", a.shape, lambda i, k: maximum(a[i, k] * 2.0, 0.0))
    return _product(positive, b, "prepared")


@operator()
def turned(a: Tensor, b: Tensor) -> Tensor:
    """Both operands transposed."""
    k = reduce_axis(a.shape[0], "k")
    shape = a.shape[1], b.shape[0]
    return compute("turned", shape, lambda i, j: reduce_sum(a[k, i] * b[j, k], k))


@operator()
def gram(a: Tensor) -> Tensor:
    """A product with itself: no operand has two formats."""
    k = reduce_axis(a.shape[1], "k")
    shape = a.shape[0], a.shape[0]
    return compute("gram", shape, lambda i, j: reduce_sum(a[i, k] * a[j, k], k))


@hookimpl
def tilewright_operators() -> Sequence[OperatorDef]:
    return [similarity, chain, perceptron, prepared, turned, gram]
