"""Matrix products: `dense` with weights as [O, K], `matmul` as numpy has it.

`matmul_integer` multiplies bytes and sums in int32, as ONNX's MatMulInteger without zero points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tilewright_tensor.expressions.expr import cast
from tilewright_tensor.ir.dag import compute, reduce_axis, reduce_sum
from tilewright_tensor.operators.definition.attribute import Attributes
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
)
