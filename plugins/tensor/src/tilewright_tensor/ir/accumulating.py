"""Computations on floats of 16 bits, carried out in float32."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from tilewright_tensor.expressions.dtype import DATA_TYPES, is_float
from tilewright_tensor.expressions.expr import Const, Op, Read, Value, cast, dtype_of, map_value
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import Dag, compute


def accumulating(dag: Dag) -> Dag:
    """The DAG with every value in the accumulator of its dtype, placeholders and outputs too.

    So a sum of float16 is one of float32, and nothing is rounded before it is stored: memory holds
    placeholders and outputs in formats of their dtypes. What the definition itself casts to 16 bits
    is rounded there. Where an output is a sum, a last stage, `stored`, stands for its rounding.
    """
    if not any(_is_narrow(tensor.dtype) for tensor in dag.tensors):
        return dag
    made: dict[Tensor, Tensor] = {}

    def leaf(value: Value) -> Value:
        if isinstance(value, Const):
            return Const(value.value, _wide(value.dtype))
        if isinstance(value, Read):
            tensor = made[value.tensor]
            return cast(Read(tensor, value.indices), _wide(tensor.dtype))
        return value

    for tensor in dag.tensors:
        if tensor.body is None:
            made[tensor] = replace(tensor, dtype=_wide(tensor.dtype))
            continue
        if tensor.combiner is None and _is_rounding(tensor.body):
            arg = map_value(tensor.body.args[0], leaf, _operation)
            made[tensor] = replace(tensor, body=Op("cast", (arg,), tensor.dtype))
        else:
            body = map_value(tensor.body, leaf, _operation)
            made[tensor] = replace(tensor, dtype=_wide(tensor.dtype), body=body)
    outputs = [
        _stored(made[tensor]) if tensor.combiner and _is_narrow(tensor.dtype) else made[tensor]
        for tensor in dag.outputs
    ]
    return Dag(outputs, [made[tensor] for tensor in dag.inputs])


def _operation(name: str, args: tuple[Value, ...], dtype: str) -> Value:
    if name != "cast":
        return Op(name, args, _wide(dtype))
    if _is_narrow(dtype) and is_float(dtype_of(args[0])):
        return Op("cast", (Op("cast", args, dtype),), _wide(dtype))
    return cast(args[0], _wide(dtype))


def _stored(total: Tensor) -> Tensor:
    names = [axis.name for axis in total.axes]
    return compute("stored", total.shape, lambda *place: total[place], axes=names)


def _is_rounding(value: Value) -> TypeGuard[Op]:
    """Whether the value is itself a cast to 16 bits."""
    return isinstance(value, Op) and value.name == "cast" and _is_narrow(value.dtype)


def _is_narrow(dtype: str) -> bool:
    return _wide(dtype) != dtype


def _wide(dtype: str) -> str:
    return DATA_TYPES[dtype].accumulator
