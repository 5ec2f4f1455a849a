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

from tilewright_tensor.expressions.affine import Affine, Index, IndexArithmetic, Var, index
from tilewright_tensor.expressions.bounds import NOTHING, Size, check_size, size_of
from tilewright_tensor.expressions.comparisons import Comparable, NoValue, comparable, defining
from tilewright_tensor.expressions.expr import (
    Const,
    Op,
    Operand,
    Read,
    Value,
    as_value,
    dtype_of,
    indexes_in,
    leaves,
    limits,
)
from tilewright_tensor.expressions.noted_reads import noted


@comparable
@dataclass(frozen=True, slots=True)
class Axis(IndexArithmetic):
    """A named range `0 <= var < extent`; usable in index arithmetic."""

    name: str
    extent: int

    @property
    def var(self) -> Var:
        """The variable that runs over it."""
        return Var(self.name)

    def affine(self) -> Affine:
        return self.var.affine()


@dataclass(frozen=True, slots=True)
class Combiner:
    """An associative and commutative operation with its identity, by dtype."""

    name: str
    operation: Callable[[Value, Value], Value]
    identity: Callable[[str], Const]


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


@dataclass(frozen=True, eq=False)
class Tensor(NoValue):
    """A placeholder (no body) or the result of a compute; equal only to itself.

    axes     one a dimension, named as in the compute's lambda
    body     the element at the axes, or what is combined over `reduce_axes`
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    axes: tuple[Axis, ...] = ()
    body: Value | None = None
    combiner: Combiner | None = None
    reduce_axes: tuple[Axis, ...] = ()

    def __getitem__(self, indices: Index | tuple[Index, ...]) -> Read:
        given = indices if isinstance(indices, tuple) else (indices,)
        if len(given) != len(self.shape):
            raise ValueError(
                f"{self.name} has {_counted(len(self.shape), 'dimension', 'dimensions')}, "
                f"got {_counted(len(given), 'index', 'indexes')}"
            )
        if any(isinstance(one, bool) for one in given):
            raise TypeError(f"an index of {self.name} is true or false, expected a place")
        return noted(Read(self, tuple(index(one) for one in given)))

    def instead(self) -> str:
        places = ", ".join("ijklmnop"[: len(self.shape)])
        return f"{self.name} is a tensor: read an element of it, as {self.name}[{places}]"

    def __repr__(self) -> str:
        return f"Tensor({self.name}, {self.shape}, {self.dtype})"

    @cached_property
    def reads(self) -> tuple[Read, ...]:
        """Reads in the body, left to right, repeats kept."""
        return (
            tuple(x for x in leaves(self.body) if isinstance(x, Read))
            if self.body is not None
            else ()
        )

    @cached_property
    def size(self) -> Size:
        """Of an element's expression, with those that it reads in place; sums are in memory."""
        if self.body is None or self.combiner is not None:
            return NOTHING
        return size_of(self.body, lambda read: read.tensor.size)


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
            f"compute {name}: {_counted(len(shape), 'dimension', 'dimensions')} "
            f"but {_counted(len(names), 'axis', 'axes')} {', '.join(names)}"
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


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


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


def reduce(combiner: Combiner, value: Operand, *axes: Axis) -> Reduction:
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


def reduce_sum(value: Operand, *axes: Axis) -> Reduction:
    """The sum over the axes."""
    return reduce(SUM, value, *axes)


def reduce_prod(value: Operand, *axes: Axis) -> Reduction:
    """The product over the axes."""
    return reduce(PROD, value, *axes)


def reduce_max(value: Operand, *axes: Axis) -> Reduction:
    """The largest over the axes; NaN if any is NaN."""
    return reduce(MAX, value, *axes)


def reduce_min(value: Operand, *axes: Axis) -> Reduction:
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
        """Arithmetic operations on floats, a combination counted as one.

        Selects, casts and comparisons are free.
        """
        return sum(prod(t.shape) * operations_per_element(t) for t in self.computes)

    def __str__(self) -> str:
        from tilewright_tensor.ir.text import dag_text

        return dag_text(self)


def operations_per_element(tensor: Tensor) -> int:
    """Float operations to compute one element of it, its reads not counted."""
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
    own = value.name not in _FREE and value.dtype.startswith("float")
    return own + sum(_operations(arg) for arg in value.args)
