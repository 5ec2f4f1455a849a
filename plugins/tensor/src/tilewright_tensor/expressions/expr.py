"""Scalar values: operations over constants, indexes, reads of tensors and loads of buffers.

Values compose with Python's operators: `a[i, k] * b[k, j] + 1.0`. Comparisons are values of dtype
bool, for `select`: `(i >= 1) & (a[i] > 0)`. Between two values, `==` is one only while an operator
is defined; elsewhere it tells whether they are the same expression, and `eq` builds the comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from tilewright_tensor.expressions.affine import Affine, Bounds, IndexArithmetic, Var, index
from tilewright_tensor.expressions.arithmetic import Arithmetic
from tilewright_tensor.expressions.comparisons import NoValue, comparable
from tilewright_tensor.expressions.dtype import DATA_TYPES, is_float, is_whole, limits, widens
from tilewright_tensor.expressions.elements import elements, with_elements

if TYPE_CHECKING:
    from tilewright_tensor.expressions.buffer import Buffer
    from tilewright_tensor.expressions.tensor import Tensor


@comparable
@dataclass(frozen=True, slots=True)
class Const(Arithmetic):
    """A number of a dtype."""

    value: float | int | bool
    dtype: str = "float32"


@comparable
@dataclass(frozen=True, slots=True)
class IndexValue(Arithmetic):
    """An index used as a value of dtype int64."""

    value: Affine


@comparable
@dataclass(frozen=True, slots=True)
class Op(Arithmetic):
    """An operation; `name` is one of `OPERATIONS`.

    Comparisons and logic give bool, `cast` gives `dtype`.
    """

    name: str
    args: tuple[Value, ...]
    dtype: str


@comparable
@dataclass(frozen=True, slots=True)
class Read(Arithmetic):
    """An element of a tensor of the compute DAG."""

    tensor: Tensor
    indices: tuple[Affine, ...]


@comparable
@dataclass(frozen=True, slots=True)
class Load(Arithmetic):
    """An element of a buffer of the loop IR."""

    buffer: Buffer
    indices: tuple[Affine, ...]


Value = Const | IndexValue | Op | Read | Load
ValueLike = Any
"""A `Value`, a number, or an index; what `as_value` takes."""
_NUMBERS = (int, float)

OPERATIONS: Mapping[str, int] = {
    # arithmetic: integers floor on `div` and `mod`, `quo` (of integers alone) and `rem` cut towards
    # zero; `max` and `min` return NaN if either side is NaN
    "add": 2, "sub": 2, "mul": 2, "div": 2, "mod": 2, "quo": 2, "rem": 2, "pow": 2, "max": 2,
    "min": 2, "neg": 1, "abs": 1,
    # bits of integers; shifts are by fewer than there are
    "bitand": 2, "bitor": 2, "bitxor": 2, "shl": 2, "shr": 2,
    # functions of one float; expm1(x) is exp(x) - 1, log1p(x) is log(1 + x), exact near 0
    "exp": 1, "expm1": 1, "log": 1, "log1p": 1, "sqrt": 1, "tanh": 1, "erf": 1, "sin": 1, "cos": 1,
    "floor": 1, "ceil": 1, "round": 1,
    # comparisons and logic, dtype bool
    "lt": 2, "le": 2, "gt": 2, "ge": 2, "eq": 2, "ne": 2, "and": 2, "or": 2, "not": 1,
    # select(condition, then, else) evaluates both sides lazily: a Load in the side not taken is
    # not performed
    "select": 3, "cast": 1,
}  # fmt: skip
"""Operation name to number of arguments."""


_TYPED = (Op, Const)
_VALUES = (Op, Read, Load, Const, IndexValue)


def dtype_of(value: Value) -> str:
    """The dtype an expression has."""
    if isinstance(value, _TYPED):
        return value.dtype
    if isinstance(value, Read):
        return value.tensor.dtype
    return value.buffer.dtype if isinstance(value, Load) else "int64"


def map_value(
    value: Value,
    leaf: Callable[[Value], Value],
    operation: Callable[[str, tuple[Value, ...], str], Value] = Op,
    *,
    inside: bool = True,
) -> Value:
    """The expression with every leaf (all but `Op`) replaced by what `leaf` makes of it.

    Operations become what `operation` makes of name, arguments and dtype. A leaf that stands in
    several places is replaced once. Leaves inside an index are replaced before the one it belongs
    to, unless `leaf` sees to them (`inside`).
    """
    done: dict[int, Value] = {}

    def mapped(one: Value) -> Value:
        if isinstance(one, Op):
            args = tuple([mapped(arg) for arg in one.args])  # noqa: F821  deleted only below
            return operation(one.name, args, one.dtype)
        known = done.get(id(one))
        if known is None:
            known = done[id(one)] = leaf(with_inside(one, mapped) if inside else one)  # noqa: F821
        return known

    result = mapped(value)
    del mapped  # a function that holds itself keeps all of this until the next search for garbage
    return result


def substituted(value: Value, point: Mapping[Var, Affine], bounds: Bounds = {}) -> Value:  # noqa: B006
    """The value with variables replaced in all indexes; divisions are simplified again."""

    def leaf(one: Value) -> Value:
        if isinstance(one, Load):
            return Load(one.buffer, tuple([i.substitute(point, bounds) for i in one.indices]))
        if isinstance(one, Read):
            return Read(one.tensor, tuple([i.substitute(point, bounds) for i in one.indices]))
        if isinstance(one, IndexValue):
            return IndexValue(one.value.substitute(point, bounds))
        return one

    return map_value(value, leaf, inside=False)


def leaves(value: Value) -> list[Value]:
    """All leaves, left to right, repeats kept; after each those in its indexes."""
    found: list[Value] = []
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, Op):
            pending += one.args[::-1]
        else:
            found.append(one)
            pending += values_inside(one)
    return found


def values_inside(leaf: Value) -> list[Value]:
    """The values that a leaf's indexes are looked up by."""
    found: list[Value] = []
    for own in _own_indexes(leaf):
        for atom, _ in own.terms:
            if type(atom) is not Var:
                found += [one.value for one in elements(atom)]
    return found


def with_inside(leaf: Value, change: Callable[[Value], Value]) -> Value:
    """The leaf with values in its indexes replaced by what `change` makes of them."""
    if not values_inside(leaf):
        return leaf
    if isinstance(leaf, IndexValue):
        return IndexValue(with_elements(leaf.value, change))
    assert isinstance(leaf, Read | Load)
    indices = tuple(with_elements(index, change) for index in leaf.indices)
    return Read(leaf.tensor, indices) if isinstance(leaf, Read) else Load(leaf.buffer, indices)


def _own_indexes(leaf: Value) -> tuple[Affine, ...]:
    if isinstance(leaf, Read | Load):
        return leaf.indices
    return (leaf.value,) if isinstance(leaf, IndexValue) else ()


def indexes_in(value: Value) -> Iterator[Affine]:
    """Every index inside the value: of accesses, and those that are values themselves."""
    for leaf in leaves(value):
        yield from _own_indexes(leaf)


# --- building values ------------------------------------------------------------------------------


def as_value(operand: ValueLike, dtype: str = "float32") -> Value:
    """A value as it is, an index as an `IndexValue`, a number as a `Const` of the dtype.

    Raises ValueError for a number that the dtype does not have.
    """
    if isinstance(operand, _VALUES):
        return operand
    if isinstance(operand, Affine | IndexArithmetic):
        return IndexValue(index(operand))
    operand = _plain(operand)
    if isinstance(operand, _NUMBERS):
        if isinstance(operand, bool) and dtype != "bool":
            operand = int(operand)
        low, high = limits(dtype)
        if low != -inf and not (low <= operand <= high and operand == int(operand)):
            raise ValueError(f"{operand} is no {dtype}: cast the other side, e.g. to 'float32'")
        if dtype == "int64" and isinstance(operand, int):
            return IndexValue(Affine((), operand))
        return Const(operand, dtype)
    if isinstance(operand, NoValue):
        raise TypeError(operand.instead())
    raise ValueError(f"expected a value, an index or a number, got {operand!r}")


def _plain(operand: ValueLike) -> ValueLike:
    """A scalar of numpy as Python's number; all else as it is."""
    return operand.item() if getattr(operand, "shape", None) == () else operand


def _same_dtype(name: str, left: ValueLike, right: ValueLike) -> tuple[tuple[Value, ...], str]:
    """The operands as values of the dtype that those have which are not mere numbers."""
    if isinstance(left, _VALUES) and isinstance(right, _VALUES):
        dtype = dtype_of(left)
        if dtype == dtype_of(right):
            return (left, right), dtype
    sides = _plain(left), _plain(right)
    values = [one if isinstance(one, _NUMBERS) else as_value(one) for one in sides]
    dtypes = {dtype_of(one) for one in values if not isinstance(one, _NUMBERS)} or {"float32"}
    if len(dtypes) > 1:
        raise ValueError(
            f"{name} of {' and '.join(sorted(dtypes))}: cast one side, e.g. cast(x, 'float32')"
        )
    (dtype,) = dtypes
    return tuple([as_value(one, dtype) for one in values]), dtype


_OF_FLOATS = frozenset({
    "exp", "expm1", "log", "log1p", "sqrt", "tanh", "erf", "sin", "cos", "floor", "ceil", "round",
    "pow",
})  # fmt: skip
_OF_INTEGERS = frozenset({"bitand", "bitor", "bitxor", "shl", "shr"})
_NOT_OF_BOOL = frozenset({"sub", "div", "mod", "quo", "rem", "neg"})


def binary(name: str, left: ValueLike, right: ValueLike) -> Op:
    """An operation of two values of one dtype. Raises ValueError where it does not exist in it."""
    args, dtype = _same_dtype(name, left, right)
    _check(name, dtype)
    if dtype == "bool" and name in ("add", "mul"):
        for side in (left, right):
            if isinstance(side, _NUMBERS) and not isinstance(side, bool):
                raise ValueError(  # noqa: TRY004  of a wrong dtype, as for all others
                    f"{side} is no bool: cast the other side, e.g. to 'int32'"
                )
    return Op(name, args, dtype)


def unary(name: str, operand: ValueLike) -> Op:
    """An operation of one value. Raises ValueError where it does not exist in its dtype."""
    value = as_value(operand)
    dtype = dtype_of(value)
    _check(name, dtype)
    return Op(name, (value,), dtype)


def _check(name: str, dtype: str) -> None:
    floating = is_float(dtype)
    if name in _OF_FLOATS and not floating:
        raise ValueError(f"{name} of {dtype}: cast it first, e.g. cast(x, 'float32')")
    if name in _OF_INTEGERS and not is_whole(dtype):
        raise ValueError(f"{name} of {dtype}: cast it first, e.g. cast(x, 'int32')")
    if name in _NOT_OF_BOOL and dtype == "bool":
        raise ValueError(f"{name} of bool: cast it first, e.g. cast(x, 'int32')")
    if name == "mod" and floating:
        raise ValueError(f"% of {dtype}: write x - floor(x / y) * y")


def _comparison(name: str) -> Callable[[ValueLike, ValueLike], Op]:
    def compare(left: ValueLike, right: ValueLike) -> Op:
        return Op(name, _same_dtype(name, left, right)[0], "bool")

    compare.__name__, compare.__doc__ = name, f"`{name}` of two values or indexes, dtype bool."
    return compare


def _function(name: str) -> Callable[[ValueLike], Op]:
    def function(operand: ValueLike) -> Op:
        return unary(name, operand)

    function.__name__, function.__doc__ = name, f"`{name}` of a value, in its dtype."
    return function


lt, le, gt, ge, eq, ne = (_comparison(name) for name in ("lt", "le", "gt", "ge", "eq", "ne"))
exp, log, sqrt, tanh, erf = (_function(name) for name in ("exp", "log", "sqrt", "tanh", "erf"))
expm1, log1p, sin, cos = (_function(name) for name in ("expm1", "log1p", "sin", "cos"))
floor, ceil, round_, absolute = (_function(name) for name in ("floor", "ceil", "round", "abs"))


def of_two(name: str, says: str) -> Callable[[ValueLike, ValueLike], Op]:
    """The function that builds an operation of two values; `says` is its docstring."""

    def operation(left: ValueLike, right: ValueLike) -> Op:
        return binary(name, left, right)

    operation.__name__, operation.__doc__ = name, says
    return operation


maximum = of_two("max", "The larger; NaN if either is NaN.")
minimum = of_two("min", "The smaller; NaN if either is NaN.")
power = of_two("pow", "`left ** right`, of floats.")
divide = of_two("div", "`left / right`; floors for integers, and is 0 by an integer 0.")
quotient = of_two("quo", "Cut towards zero; 0 where the divisor is.")
remainder = of_two("rem", "What `quotient` leaves, of floats too, with the sign of `left`.")
modulo = of_two("mod", "What `divide` leaves, with the sign of `right`; 0 by 0.")
bitwise_and = of_two("bitand", "The bits that both have.")
bitwise_or = of_two("bitor", "The bits that either has.")
bitwise_xor = of_two("bitxor", "The bits that one of the two has.")
shift_left = of_two("shl", "`left` by `right` bits, fewer than it has; zeros come in.")
shift_right = of_two("shr", "`left` by `right` bits, fewer than it has; its sign comes in.")


def logical_and(*conditions: ValueLike) -> Value:
    """True where all are; of one condition, itself."""
    return _chain("and", conditions)


def logical_or(*conditions: ValueLike) -> Value:
    """True where any is; of one condition, itself."""
    return _chain("or", conditions)


def logical_not(condition: ValueLike) -> Op:
    """True where the condition is not."""
    return Op("not", (_condition("not", condition),), "bool")


def _chain(name: str, conditions: tuple[ValueLike, ...]) -> Value:
    result, *rest = [_condition(name, one) for one in conditions]
    for condition in rest:
        result = Op(name, (result, condition), "bool")
    return result


def _condition(name: str, operand: ValueLike) -> Value:
    """An operand of dtype bool. Raises ValueError for any other."""
    if isinstance(operand, bool):
        return Const(operand, "bool")
    if not isinstance(operand, _VALUES) or dtype_of(operand) != "bool":
        got = dtype_of(as_value(operand))
        raise ValueError(f"{name} of {got}: expected comparisons, as in (i >= 1) & (x > 0)")
    return operand


def select(condition: Value, then: ValueLike, otherwise: ValueLike) -> Op:
    """`then` where the condition holds, else `otherwise`; the side not taken is not evaluated.

    Raises ValueError where the condition is no comparison.
    """
    if not isinstance(condition, _VALUES) or dtype_of(condition) != "bool":
        got = dtype_of(condition) if isinstance(condition, _VALUES) else repr(condition)
        raise ValueError(f"select by {got}: expected a comparison, e.g. i >= 1 or x > 0")
    sides, dtype = _same_dtype("select", then, otherwise)
    return Op("select", (condition, *sides), dtype)


def cast(operand: ValueLike, dtype: str) -> Value:
    """The value converted to the dtype.

    Floats to integers round towards zero and saturate, NaN becomes 0; integers are cut to their low
    bits.
    """
    if dtype not in DATA_TYPES:
        raise ValueError(f"cast to {dtype!r}: expected one of {', '.join(DATA_TYPES)}")
    value = as_value(operand, dtype)
    if isinstance(value, Op) and value.name == "cast":
        (inner,) = value.args
        if dtype_of(inner) == dtype and widens(dtype, value.dtype):
            return inner
    return value if dtype_of(value) == dtype else Op("cast", (value,), dtype)
