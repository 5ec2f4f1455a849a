"""What an operator computes, as a hash: equal where the compute DAG is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.canonical import content_key
from tilewright_tensor.expressions.expr import Const, IndexValue, Op, Read, Value, values_inside
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import Dag


def definition_key(dag: Dag) -> str:
    """16 hexadecimal digits; names of stages and axes are part of it, as knobs go by them."""
    return content_key([_stage(tensor) for tensor in dag.tensors])


def _stage(tensor: Tensor) -> list[Any]:
    axes = [[axis.name, axis.extent] for axis in (*tensor.axes, *tensor.reduce_axes)]
    combiner = tensor.combiner.name if tensor.combiner is not None else ""
    body = [] if tensor.body is None else list(_words(tensor.body))
    return [tensor.name, tensor.shape, tensor.dtype, axes, len(tensor.axes), combiner, body]


def _words(value: Value) -> Iterator[list[Any]]:
    """The expression in prefix order; how many arguments a word has follows from the word."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, Op):
            yield [one.name, one.dtype, len(one.args)]
            pending += one.args[::-1]
            continue
        inside = values_inside(one)
        if isinstance(one, Const):
            yield [repr(one.value), one.dtype]
        elif isinstance(one, IndexValue):
            yield [str(one.value), len(inside)]
        else:
            assert isinstance(one, Read)
            yield [one.tensor.name, [str(index) for index in one.indices], len(inside)]
        pending += inside[::-1]
