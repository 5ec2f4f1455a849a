"""Softmax and the normalisations: over a batch, over an axis, over neighbouring channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from tilewright_tensor.expressions.expr import exp, power, sqrt
from tilewright_tensor.ir.dag import compute, reduce_axis, reduce_max, reduce_sum
from tilewright_tensor.operators.builtin.padding import pad_stage
from tilewright_tensor.operators.definition.attribute import (
    Attribute,
    Attributes,
    from_back,
    integer,
    number,
)
from tilewright_tensor.operators.definition.operator_def import (
    Inputs,
    Operand,
    OperatorDef,
    expect,
    expect_axis,
    numpy_reference,
    one_dtype,
)
from tilewright_tensor.operators.definition.places import axis_names

if TYPE_CHECKING:
    from tilewright_tensor.expressions.expr import Value
    from tilewright_tensor.expressions.tensor import Axis, Tensor
    from tilewright_tensor.ir.dag import Reduction

T = TypeVar("T")


def _softmax_infer(inputs: Inputs, attributes: Attributes) -> tuple[tuple[int, ...], str]:
    expect_axis(attributes["axis"], len(inputs[0].shape))
    return inputs[0].shape, inputs[0].dtype


class _Line:
    """The axis that a line of a tensor lies along, and how to read beside it and along it.

    k       runs along the line
    shape   of what has one element a line
    others  names of its axes
    """

    def __init__(self, data: Tensor, attributes: Attributes) -> None:
        self.names = axis_names(len(data.shape))
        self.axis = attributes["axis"] % len(self.names)
        self.k = reduce_axis(data.shape[self.axis], "k")
        self.others = self.beside(self.names)
        self.shape = self.beside(data.shape)

    def along(self, place: Sequence[Axis]) -> tuple[Axis, ...]:
        """Where the line of a place is read."""
        return (*place[: self.axis], self.k, *place[self.axis :])

    def beside(self, place: Sequence[T]) -> tuple[T, ...]:
        """A place without the axis: of its line."""
        return (*place[: self.axis], *place[self.axis + 1 :])


def _softmax_compute(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    data = tensors[0]
    line = _Line(data, attributes)
    names, others, shape, k = line.names, line.others, line.shape, line.k
    along, beside = line.along, line.beside
    largest = compute("softmax_max", shape, lambda *p: reduce_max(data[along(p)], k), axes=others)
    raised = compute(
        "softmax_exp", data.shape, lambda *p: exp(data[p] - largest[beside(p)]), axes=names
    )
    total = compute("softmax_sum", shape, lambda *p: reduce_sum(raised[along(p)], k), axes=others)
    # one division a line: a product is over many times sooner
    return compute(
        "softmax", data.shape, lambda *p: raised[p] * (1.0 / total[beside(p)]), axes=names
    )


def _batch_norm_infer(inputs: Inputs, _attributes: Attributes) -> tuple[tuple[int, ...], str]:
    shape = inputs[0].shape
    expect(len(shape) >= 2, f"expected data [N, C, ...], got {list(shape)}")
    for one, operand in zip(inputs[1:], _BATCH_NORM_OPERANDS[1:], strict=True):
        expect(
            one.shape == shape[1:2], f"{operand.name} has shape {list(one.shape)}, not [{shape[1]}]"
        )
    return shape, one_dtype(inputs)


def _batch_norm_compute(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    data, gamma, beta, mean, variance = tensors

    def element(*place: Axis) -> Value:
        c = place[1]
        scale = gamma[c] / sqrt(variance[c] + attributes["epsilon"])
        return (data[place] - mean[c]) * scale + beta[c]

    return compute("batch_norm", data.shape, element, axes=axis_names(len(data.shape)))


def _layer_norm_infer(inputs: Inputs, attributes: Attributes) -> tuple[tuple[int, ...], str]:
    shape, axis = inputs[0].shape, attributes["axis"]
    expect_axis(axis, len(shape))
    for one, name in zip(inputs[1:], ("gamma", "beta"), strict=True):
        expect(
            one.shape == (shape[axis],), f"{name} has shape {list(one.shape)}, not [{shape[axis]}]"
        )
    return shape, one_dtype(inputs)


def _layer_norm_compute(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    data, gamma, beta = tensors
    line = _Line(data, attributes)
    others, shape, k, along, beside = line.others, line.shape, line.k, line.along, line.beside
    share = 1.0 / data.shape[line.axis]
    total = compute("sum", shape, lambda *p: reduce_sum(data[along(p)], k), axes=others)
    mean = compute("mean", shape, lambda *p: total[p] * share, axes=others)

    def squared(*place: Axis) -> Reduction:
        difference = data[along(place)] - mean[place]
        return reduce_sum(difference * difference, k)

    squares = compute("squares", shape, squared, axes=others)
    scale = compute(
        "scale", shape, lambda *p: 1.0 / sqrt(squares[p] * share + attributes["epsilon"]),
        axes=others,
    )  # fmt: skip

    def element(*place: Axis) -> Value:
        centred = data[place] - mean[beside(place)]
        return centred * scale[beside(place)] * gamma[place[line.axis]] + beta[place[line.axis]]

    return compute("layer_norm", data.shape, element, axes=line.names)


def _lrn_infer(inputs: Inputs, attributes: Attributes) -> tuple[tuple[int, ...], str]:
    expect(len(inputs[0].shape) >= 2, f"expected data [N, C, ...], got {list(inputs[0].shape)}")
    expect(attributes["size"] > 0, f"size {attributes['size']} is not positive")
    return inputs[0].shape, inputs[0].dtype


def _power(base: Value, exponent: float) -> Value:
    """A power; small multiples of a quarter are products of square roots, which cost far less."""
    if exponent * 4 not in range(1, 9):
        return power(base, exponent)
    wholes, quarters = divmod(int(exponent * 4), 4)
    half = sqrt(base)
    first, *others = [base] * wholes + [half] * (quarters // 2) + [sqrt(half)] * (quarters % 2)
    for factor in others:
        first = first * factor
    return first


def _lrn_compute(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    data, size = tensors[0], attributes["size"]
    names = axis_names(len(data.shape))
    before = [0] * len(names)
    after = [0] * len(names)
    before[1], after[1] = (size - 1) // 2, size - 1 - (size - 1) // 2
    padded = pad_stage(data, before, after, 0.0)
    k = reduce_axis(size, "k")

    def squares(n: Axis, c: Axis, *place: Axis) -> Reduction:
        neighbour = padded[(n, c + k, *place)]
        return reduce_sum(neighbour * neighbour, k)

    total = compute("square_sum", data.shape, squares, axes=names)

    def element(*place: Axis) -> Value:
        scale = total[place] * (attributes["alpha"] / size) + attributes["bias"]
        return data[place] / _power(scale, attributes["beta"])

    return compute("lrn", data.shape, element, axes=names)


_BATCH_NORM_OPERANDS = (
    Operand("data"),
    Operand("gamma"),
    Operand("beta"),
    Operand("mean"),
    Operand("variance", values="positive"),
)

OPERATORS = (
    OperatorDef(
        "softmax",
        (Operand("data"),),
        _softmax_infer,
        _softmax_compute,
        numpy_reference("softmax"),
        (Attribute("axis", integer, -1, from_back),),
        values="float",
    ),
    OperatorDef(
        "batch_norm",
        _BATCH_NORM_OPERANDS,
        _batch_norm_infer,
        _batch_norm_compute,
        numpy_reference("batch_norm"),
        (Attribute("epsilon", number, 1e-5),),
        values="float",
    ),
    OperatorDef(
        "layer_norm",
        (Operand("data"), Operand("gamma"), Operand("beta")),
        _layer_norm_infer,
        _layer_norm_compute,
        numpy_reference("layer_norm"),
        (Attribute("axis", integer, -1, from_back), Attribute("epsilon", number, 1e-5)),
        values="float",
    ),
    OperatorDef(
        "lrn",
        (Operand("data"),),
        _lrn_infer,
        _lrn_compute,
        numpy_reference("lrn"),
        (
            Attribute("size", integer),
            Attribute("alpha", number, 1e-4),
            Attribute("beta", number, 0.75),
            Attribute("bias", number, 1.0),
        ),
        values="float",
    ),
)
