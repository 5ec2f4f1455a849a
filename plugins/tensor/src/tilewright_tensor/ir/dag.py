"""Compute DAG: tensors defined by expressions over other tensors, element by element.

>>> a = placeholder("a", (128, 64))
>>> b = placeholder("b", (64, 32))
>>> k = reduce_axis(64, "k")
>>> c = compute("c", (128, 32), lambda i, j: reduce_sum(a[i, k] * b[k, j], k))
>>> print(Dag([c]))
a = placeholder(128, 64)
b = placeholder(64, 32)
c(i, j) += (a[i, k]*b[k, j])
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from operator import index as index_of
from types import FunctionType
from typing import Any

from tilewright_tensor.expressions.bounds import check_size, size_of
from tilewright_tensor.expressions.comparisons import Comparable, NoValue, defining
from tilewright_tensor.expressions.dtype import is_float, limits
from tilewright_tensor.expressions.expr import (
    Const,
    Op,
    Value,
    ValueLike,
    as_value,
    dtype_of,
    indexes_in,
)
from tilewright_tensor.expressions.tensor import Axis, Combiner, Tensor, counted
from tilewright_tensor.expressions.value_text import value_text


@dataclass(frozen=True, slots=True, eq=False)
class Reduction(NoValue):
    """What `reduce_sum` and its like give; only ever the whole body of a compute."""

    combiner: Combiner
    value: Value
    axes: tuple[Axis, ...]

    def instead(self) -> str:
        return (
            f"a reduction ({self.combiner.name}) is the whole body of a compute: "
            "give it a compute of its own, and read that one"
        )


def placeholder(name: str, shape: Sequence[int], dtype: str = "float32") -> Tensor:
    """An operand."""
    return Tensor(name, _extents(name, shape), dtype)


def compute(
    name: str,
    shape: Sequence[int],
    body: Callable[..., Any],
    dtype: str | None = None,
    axes: Sequence[str] | None = None,
) -> Tensor:
    """A tensor whose element at (axes...) is what `body` returns: a value, number or reduction.

    `axes` names the axes; without it they are named as the lambda's parameters, or i0, i1, ... for
    `lambda *axes`.
    """
    shape = _extents(name, shape)
    names = tuple(axes) if axes is not None else _parameter_names(body, len(shape))
    if len(names) != len(shape):
        raise ValueError(
            f"compute {name}: {counted(len(shape), 'dimension', 'dimensions')} "
            f"but {counted(len(names), 'axis', 'axes')} {', '.join(names)}"
        )
    spatial = tuple(Axis(*pair) for pair in zip(names, shape, strict=True))
    with defining():
        result = body(*spatial)
    if isinstance(result, bool) and dtype != "bool":
        raise ValueError(f"compute {name}: the body is {result} for every element")
    combiner: Combiner | None = None
    reduced: tuple[Axis, ...] = ()
    if isinstance(result, Reduction):
        combiner, reduced, result = result.combiner, result.axes, result.value
    value = as_value(result, dtype or "float32")
    every = [axis.name for axis in spatial + reduced]
    if len(set(every)) != len(every):
        raise ValueError(f"compute {name}: axis names must differ, got {', '.join(every)}")
    if dtype is not None and dtype_of(value) != dtype:
        raise ValueError(
            f"compute {name}: the body is {dtype_of(value)}, expected {dtype}: cast it"
        )
    known = {axis.var for axis in spatial + reduced}
    tensor = Tensor(name, shape, dtype_of(value), spatial, value, combiner, reduced)
    check_size(name, size_of(value, lambda read: read.tensor.size))
    for one in {id(one): one for one in indexes_in(value)}.values():
        if unknown := one.variables() - known:
            raise ValueError(
                f"compute {name}: {', '.join(v.name for v in unknown)} is no axis of it"
            )
    return tensor


def _extents(name: str, shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(_whole(one, f"dimension {d} of {name}") for d, one in enumerate(shape))


def _whole(given: Any, of: str) -> int:
    """An extent as a whole number. Raises TypeError for any other."""
    if type(given) is int:
        return given
    if isinstance(given, Comparable):
        raise TypeError(
            f"the extent of {of} depends on an axis or a value, expected a whole number: take the "
            "largest, and leave out what lies behind by select(k <= j, term, 0.0)"
        )
    try:
        return index_of(given)
    except TypeError:
        raise TypeError(f"the extent of {of} is {given!r}, expected a whole number") from None


def _parameter_names(body: Callable[..., Any], rank: int) -> tuple[str, ...]:
    if isinstance(body, FunctionType) and not body.__code__.co_flags & inspect.CO_VARARGS:
        # as a signature has them, which takes as long to make as all the rest of a tensor
        return body.__code__.co_varnames[: body.__code__.co_argcount]
    parameters = inspect.signature(body).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return tuple(f"i{d}" for d in range(rank))
    return tuple(p.name for p in parameters)


def reduce_axis(extent: int, name: str = "k") -> Axis:
    """An axis to reduce over, one element or more."""
    count = _whole(extent, f"axis {name}")
    if count < 1:
        raise ValueError(f"axis {name} has extent {count}, expected at least 1")
    return Axis(name, count)


def _extreme(sign: int) -> Callable[[str], Const]:
    def identity(dtype: str) -> Const:
        low, high = limits(dtype)
        return Const(high if sign > 0 else low, dtype)

    return identity


def _operation(name: str) -> Callable[[Value, Value], Value]:
    return lambda left, right: Op(name, (left, right), dtype_of(left))


SUM = Combiner("sum", _operation("add"), lambda dtype: Const(0, dtype))
PROD = Combiner("prod", _operation("mul"), lambda dtype: Const(1, dtype))
MAX = Combiner("max", _operation("max"), _extreme(-1))
MIN = Combiner("min", _operation("min"), _extreme(1))


def reduce(combiner: Combiner, value: ValueLike, *axes: Axis) -> Reduction:
    """The value combined over the axes. Raises TypeError for what is no axis.

    In the value's dtype: sums of bool and of narrow integers are to be cast first.
    """
    if not axes:
        raise ValueError("a reduction needs at least one axis")
    for axis in axes:
        if not isinstance(axis, Axis):
            raise TypeError(f"a reduction is over axes that reduce_axis gives, got {axis!r}")
    term = as_value(value)
    if combiner.name in ("sum", "prod") and dtype_of(term) == "bool":
        raise ValueError(f"a reduction ({combiner.name}) of bool: cast it first, e.g. to 'int32'")
    return Reduction(combiner, term, axes)


def reduce_sum(value: ValueLike, *axes: Axis) -> Reduction:
    """The sum over the axes."""
    return reduce(SUM, value, *axes)


def reduce_prod(value: ValueLike, *axes: Axis) -> Reduction:
    """The product over the axes."""
    return reduce(PROD, value, *axes)


def reduce_max(value: ValueLike, *axes: Axis) -> Reduction:
    """The largest over the axes; NaN if any is NaN."""
    return reduce(MAX, value, *axes)


def reduce_min(value: ValueLike, *axes: Axis) -> Reduction:
    """The smallest over the axes; NaN if any is NaN."""
    return reduce(MIN, value, *axes)


class Dag:
    """A computation: the outputs and everything that they read.

    `inputs` fixes the order of the placeholders (the operands of the kernel), unread ones
    included; without it, they come in order of first use.
    """

    def __init__(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor] | None = None) -> None:
        self.outputs = tuple(outputs)
        order: dict[Tensor, None] = dict.fromkeys(inputs or ())
        pending = [(tensor, False) for tensor in reversed(self.outputs)]
        while pending:
            tensor, producers_done = pending.pop()
            if tensor in order:
                continue
            if producers_done:
                order[tensor] = None
            else:
                pending.append((tensor, True))
                pending += [(read.tensor, False) for read in reversed(tensor.reads)]
        self.tensors: tuple[Tensor, ...] = tuple(order)
        """Placeholders and computes; producers before their readers."""
        self.inputs = tuple(t for t in self.tensors if t.body is None)
        self.computes = tuple(t for t in self.tensors if t.body is not None)
        if inputs is not None and len(self.inputs) != len(inputs):
            missing = [t.name for t in self.inputs if t not in inputs]
            raise ValueError(f"placeholders {', '.join(missing)} are read but not among the inputs")
        names = [tensor.name for tensor in self.tensors]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"tensor names must differ, {', '.join(sorted(twice))} occurs twice")

    def readers(self, tensor: Tensor) -> tuple[Tensor, ...]:
        """The computes that read it, in order."""
        return tuple(t for t in self.computes if any(read.tensor is tensor for read in t.reads))

    @cached_property
    def operation_count(self) -> int:
        """Arithmetic operations on floats, and products, a combination counted as one.

        Selects, casts and comparisons are free.
        """
        return sum(prod(t.shape) * operations_per_element(t) for t in self.computes)

    def __str__(self) -> str:
        return "\n".join(tensor_text(tensor) for tensor in self.tensors)


def operations_per_element(tensor: Tensor) -> int:
    """Operations to compute one element of it, its reads not counted."""
    if tensor.body is None:
        return 0
    body = _operations(tensor.body)
    if tensor.combiner is None:
        return body
    return (body + 1) * prod(axis.extent for axis in tensor.reduce_axes)


def terms_per_element(tensor: Tensor) -> int:
    """How many terms one element of it adds up; 1 where it is no sum or product."""
    if tensor.combiner in (None, MAX, MIN):
        return 1
    return prod(axis.extent for axis in tensor.reduce_axes)


_FREE = frozenset({"select", "cast", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not"})


def _operations(value: Value) -> int:
    if not isinstance(value, Op):
        return 0
    own = value.name not in _FREE and (value.name == "mul" or is_float(value.dtype))
    return own + sum(_operations(arg) for arg in value.args)


_UPDATE = {"sum": "+=", "prod": "*="}


def tensor_text(tensor: Tensor) -> str:
    """A stage as `conv2d(n, f, y, x) += (pad[n, rc, y + ry]*w[f, rc, ry])`, or a shape."""
    if tensor.body is None:
        shape = ", ".join(map(str, tensor.shape))
        dtype = "" if tensor.dtype == "float32" else f", {tensor.dtype}"
        return f"{tensor.name} = placeholder({shape}{dtype})"
    update = (
        "="
        if tensor.combiner is None
        else _UPDATE.get(tensor.combiner.name, f"{tensor.combiner.name}=")
    )
    axes = ", ".join(axis.name for axis in tensor.axes)
    return f"{tensor.name}({axes}) {update} {value_text(tensor.body)}"
