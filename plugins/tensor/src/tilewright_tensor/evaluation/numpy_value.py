"""Values evaluated by numpy, over arrays of points.

What the interpreter and the reference evaluation share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import erf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright_tensor.expressions.affine import Affine, Element, FloorDiv, Var
from tilewright_tensor.expressions.dtype import is_float, is_whole, numpy_type, stored
from tilewright_tensor.expressions.expr import Const, IndexValue, Load, Read, Value

Array = NDArray[Any]
Points = Mapping[Var, Any]
"""The value of each variable: a number, or an array with one entry a point (arrays broadcast)."""
Fetch = Callable[[Read | Load, tuple[Any, ...], Any], Any]
"""Elements of a read at index arrays; the last argument tells which points count, None for all."""


def index_at(index: Affine, points: Points, element: Callable[[Value], Any] | None = None) -> Any:
    """An index at every point; `element` gives what in it is found in memory."""
    total: Any = index.constant
    for atom, coefficient in index.terms:
        if isinstance(atom, Var):
            value = points[atom]
        elif isinstance(atom, Element):
            assert element is not None, f"{atom} is no index of a loop"
            value = element(atom.value)
        else:
            inner = index_at(atom.value, points, element)
            division = isinstance(atom, FloorDiv)
            value = inner // atom.divisor if division else inner % atom.divisor
        total = total + coefficient * value
    return total


def value_at(
    value: Value, points: Points, fetch: Fetch, dtype: Callable[[str], Any], active: Any = None
) -> Any:
    """A value at every point, computed in the numpy dtypes that `dtype` gives for names.

    `active` marks the points whose value will be used: the others (the sides of a select not
    taken) may read outside.
    """
    if isinstance(value, Const):
        return dtype(value.dtype)(value.value)

    def looked_up(one: Value) -> Any:
        return value_at(one, points, fetch, dtype, active)

    if isinstance(value, IndexValue):
        at = index_at(value.value, points, looked_up)
        return np.int64(at) if value.value.is_constant else at
    if isinstance(value, Read | Load):
        indices = tuple(index_at(index, points, looked_up) for index in value.indices)
        return fetch(value, indices, active)
    if value.name == "select":
        condition = np.asarray(value_at(value.args[0], points, fetch, dtype, active))
        taken = condition if active is None else condition & active
        other = ~condition if active is None else ~condition & active
        return np.where(
            condition,
            value_at(value.args[1], points, fetch, dtype, taken),
            value_at(value.args[2], points, fetch, dtype, other),
        )
    args = [value_at(arg, points, fetch, dtype, active) for arg in value.args]
    with np.errstate(all="ignore"):
        if value.name == "cast":
            # To what it names, though everything around it may be computed in more digits.
            return converted(np.asarray(args[0]), value.dtype).astype(dtype(value.dtype))
        if value.name == "div" and np.issubdtype(np.result_type(*args), np.integer):
            return np.floor_divide(*args)
        result = _FUNCTIONS[value.name](*args)
    return (
        result
        if value.dtype == "bool"
        else np.asarray(result).astype(dtype(value.dtype), copy=False)
    )


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "mod": np.mod,
    "quo": lambda x, y: np.floor_divide(x - np.fmod(x, y), y), "rem": np.fmod,
    "bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor,
    "shl": np.left_shift, "shr": np.right_shift,
    "max": np.maximum,
    "min": np.minimum, "neg": np.negative, "abs": np.abs, "pow": np.power,
    "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt,
    "tanh": np.tanh,
    "erf": np.vectorize(erf, otypes=[float]),
    "floor": np.floor, "ceil": np.ceil, "round": np.round, "sin": np.sin, "cos": np.cos,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "eq": np.equal, "ne": np.not_equal,
    "and": np.logical_and, "or": np.logical_or, "not": np.logical_not,
}  # fmt: skip


def converted(array: Array, dtype: str) -> Array:
    """The array in another dtype: floats become integers as `cast` has it."""
    if not (is_float(str(array.dtype)) and is_whole(dtype)):
        return stored(array, dtype)
    wanted = numpy_type(dtype)
    limits, wide = np.iinfo(wanted), array.astype(np.float64)
    beyond = [wide >= float(limits.max), wide <= float(limits.min)]
    inside = np.where(np.isnan(wide) | beyond[0] | beyond[1], 0, wide).astype(wanted)
    return np.select(beyond, [wanted.type(limits.max), wanted.type(limits.min)], inside)


def element(array: Array, name: str, indices: tuple[Any, ...], active: Any) -> Any:
    """Elements of an array at index arrays. IndexError where a point that counts lies outside."""
    safe = []
    for dimension, (at, extent) in enumerate(zip(indices, array.shape, strict=True)):
        outside = (np.asarray(at) < 0) | (np.asarray(at) >= extent)
        if outside.any():
            if active is None or (outside & active).any():
                raise IndexError(
                    f"{name}: dimension {dimension} has extent {extent}, read or written outside"
                )
            at = np.clip(at, 0, extent - 1)  # noqa: PLW2901
        safe.append(at)
    return array[tuple(safe)]
