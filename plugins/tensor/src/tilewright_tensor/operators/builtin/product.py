"""Matrix products: `dense` with weights as [O, K], `matmul` as numpy has it.

`matmul_integer` multiplies bytes and sums in int32, as ONNX's MatMulInteger without zero points.
`attention` is two products with a softmax between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tilewright_tensor.expressions.expr import cast, exp
from tilewright_tensor.ir.dag import compute, reduce_axis, reduce_max, reduce_sum
from tilewright_tensor.operators.definition.attribute import Attribute, Attributes, number
from tilewright_tensor.operators.definition.operator_def import (
    Inputs,
    Operand,
    OperatorDef,
    expect,
    numpy_reference,
    one_dtype,
)
from tilewright_tensor.operators.definition.places import (
    axis_names,
    broadcast_place,
    broadcast_shapes,
)

if TYPE_CHECKING:
    from tilewright_tensor.expressions.expr import Value
    from tilewright_tensor.expressions.tensor import Axis, Tensor
    from tilewright_tensor.ir.dag import Reduction


def _dense_infer(inputs: Inputs, _attributes: Attributes) -> tuple[tuple[int, ...], str]:
    data, weight = (one.shape for one in inputs)
    expect(
        len(data) == 2 == len(weight) and data[1] == weight[1],
        f"expected data [N, K] and weight [O, K], got {list(data)} and {list(weight)}",
    )
    return (data[0], weight[0]), one_dtype(inputs)


def _dense_compute(tensors: Sequence[Tensor], _attributes: Attributes) -> Tensor:
    data, weight = tensors
    k = reduce_axis(data.shape[1], "k")
    return compute(
        "dense",
        (data.shape[0], weight.shape[0]),
        lambda n, o: reduce_sum(data[n, k] * weight[o, k], k),
    )


def _matmul_shape(inputs: Inputs) -> tuple[int, ...]:
    a, b = (one.shape for one in inputs)
    expect(
        min(len(a), len(b)) >= 2 and a[-1] == b[-2],
        f"expected [..., M, K] and [..., K, N], got {list(a)} and {list(b)}",
    )
    return (*broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])


def _matmul_infer(inputs: Inputs, _attributes: Attributes) -> tuple[tuple[int, ...], str]:
    return _matmul_shape(inputs), one_dtype(inputs)


def _integer_infer(inputs: Inputs, _attributes: Attributes) -> tuple[tuple[int, ...], str]:
    dtypes = [one.dtype for one in inputs]
    expect(
        set(dtypes) <= {"int8", "uint8"},
        f"expected operands of int8 or uint8, got {' and '.join(dtypes)}",
    )
    return _matmul_shape(inputs), "int32"


def _matmul_compute(tensors: Sequence[Tensor], _attributes: Attributes) -> Tensor:
    return _product("matmul", tensors, lambda element: element)


def _integer_compute(tensors: Sequence[Tensor], _attributes: Attributes) -> Tensor:
    return _product("matmul_integer", tensors, lambda element: cast(element, "int32"))


def _product(name: str, tensors: Sequence[Tensor], term: Callable[[Value], Value]) -> Tensor:
    a, b = tensors
    k = reduce_axis(a.shape[-1], "k")
    shape = (*broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])

    def element(*place: Axis) -> Reduction:
        *batch, row, column = place
        return reduce_sum(
            term(a[(*broadcast_place(batch, a.shape[:-2]), row, k)])
            * term(b[(*broadcast_place(batch, b.shape[:-2]), k, column)]),
            k,
        )

    return compute(name, shape, element, axes=axis_names(len(shape)))


def _attention_infer(inputs: Inputs, _attributes: Attributes) -> tuple[tuple[int, ...], str]:
    queries, keys, values, mask = (one.shape for one in inputs)
    expect(
        len(queries) == len(keys) == len(values) == len(mask) >= 2
        and queries[:-2] == keys[:-2] == values[:-2]
        and queries[-1] == keys[-1]
        and keys[-2] == values[-2],
        "expected queries [..., M, K], keys [..., N, K], values [..., N, E] and a mask of that "
        f"rank, got {', '.join(str(list(one.shape)) for one in inputs)}",
    )
    scores = (*queries[:-1], keys[-2])
    expect(
        all(own in (1, extent) for own, extent in zip(mask, scores, strict=True)),
        f"the mask {list(mask)} does not broadcast to the scores {list(scores)}",
    )
    return (*queries[:-1], values[-1]), one_dtype(inputs)


def _attention_compute(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    """softmax(scale * queries @ keys^T + mask) @ values; rows are divided last, when shortest."""
    queries, keys, values, mask = tensors
    rows, names = queries.shape[:-1], axis_names(len(queries.shape))
    shape = (*rows, keys.shape[-2])
    k = reduce_axis(keys.shape[-1], "k")
    largest_j, total_j, mixed_j = (reduce_axis(shape[-1], name) for name in "pqr")

    def score(*place: Axis) -> Reduction:
        *batch, i, j = place
        return reduce_sum(queries[(*batch, i, k)] * keys[(*batch, j, k)], k)

    def masked_score(*place: Axis) -> Value:
        scale: float = attributes["scale"]
        return scores[place] * scale + mask[broadcast_place(place, mask.shape)]

    def mean(*place: Axis) -> Reduction:
        *row, e = place
        return reduce_sum(raised[(*row, mixed_j)] * values[(*row[:-1], mixed_j, e)], mixed_j)

    scores = compute("scores", shape, score, axes=names)
    masked = compute("masked", shape, masked_score, axes=names)
    largest = compute(
        "largest", rows, lambda *p: reduce_max(masked[(*p, largest_j)], largest_j), axes=names[:-1]
    )
    raised = compute("raised", shape, lambda *p: exp(masked[p] - largest[p[:-1]]), axes=names)
    total = compute(
        "total", rows, lambda *p: reduce_sum(raised[(*p, total_j)], total_j), axes=names[:-1]
    )
    share = compute("share", rows, lambda *p: 1.0 / total[p], axes=names[:-1])
    mixed = compute("mixed", (*rows, values.shape[-1]), mean, axes=names)
    return compute("attention", mixed.shape, lambda *p: mixed[p] * share[p[:-1]], axes=names)


OPERATORS = (
    OperatorDef(
        "dense",
        (
            Operand("data", linear=((0, 0),)),
            Operand("weight", "OI", "constant", "weight", linear=((0, 1),)),
        ),
        _dense_infer,
        _dense_compute,
        numpy_reference("dense"),
        values="number",
    ),
    OperatorDef(
        "matmul",
        (Operand("a", linear=((-2, -2),)), Operand("b", linear=((-1, -1),))),
        _matmul_infer,
        _matmul_compute,
        numpy_reference("matmul"),
        values="number",
    ),
    OperatorDef(
        "matmul_integer",
        (Operand("a"), Operand("b")),
        _integer_infer,
        _integer_compute,
        numpy_reference("matmul_integer"),
    ),
    OperatorDef(
        "attention",
        (
            Operand("queries"),
            Operand("keys"),
            Operand("values", linear=((-1, -1),)),
            Operand("mask"),
        ),
        _attention_infer,
        _attention_compute,
        numpy_reference("attention"),
        (Attribute("scale", number, 1.0),),
        values="float",
    ),
)
