"""Values as C expressions."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tilewright_cuda.index_text import IndexText
from tilewright_cuda.prelude import FLOAT_FUNCTIONS
from tilewright_tensor.affine import Affine, Var
from tilewright_tensor.expr import Const, IndexValue, Load, Op, Value, dtype_of, logical_and
from tilewright_tensor.facts import condition_of
from tilewright_tensor.loop_ir import Store

C_TYPES: Mapping[str, str] = {
    "float32": "float", "float64": "double", "bool": "bool",
    "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned",
    "uint64": "unsigned long long",
}  # fmt: skip

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
    "ne": "!=", "and": "&&", "or": "||",
}  # fmt: skip
_DIVISIONS = {
    "div": "tw_floor_div", "mod": "tw_floor_mod", "quo": "tw_quo", "rem": "tw_rem",
}  # fmt: skip
_SMALL = frozenset({"int8", "int16", "uint8", "uint16"})
_COPY_BYTES = 4


def c_type(dtype: str) -> str:
    """The C type of a dtype. Raises ValueError for one that kernels cannot have."""
    try:
        return C_TYPES[dtype]
    except KeyError:
        raise ValueError(f"kernels have no values of dtype {dtype}") from None


class ValueText:
    """Writes values, one element at a time."""

    def __init__(self, index: IndexText, accessed: set[str]) -> None:
        self.index = index
        self.accessed = accessed
        """Names of the buffers of which elements were written or read."""
        self._elements: dict[int, tuple[Load, str]] = {}
        """Text of an access by its identity, which holds as long as the access is kept here."""

    def at(self, point: Mapping[Var, Affine]) -> ValueText:
        """Writes the same values where variables are what the point says."""
        return ValueText(self.index.at(point), self.accessed)

    def value(self, value: Value) -> str:
        """The value as a C expression; binary operations stand in parentheses."""
        if isinstance(value, Op):
            return self._operation(value)
        if isinstance(value, Load):
            return self.element(value)
        if isinstance(value, IndexValue):
            return f"(long long)({self.index.index(value.value)})"
        assert isinstance(value, Const)
        return constant_text(value, self.index.helpers)

    def whole(self, value: Value) -> str:
        """The value without parentheses around it."""
        text = self.value(value)
        if not isinstance(value, Op) or value.dtype in _SMALL:
            return text
        return text[1:-1] if value.name in _INFIX or value.name == "select" else text

    def element(self, access: Load) -> str:
        """`buffer[index]`."""
        if known := self._elements.get(id(access)):
            return known[1]
        self.accessed.add(access.buffer.name)
        flat = self.index.flat(access.buffer, access.indices)
        text = f"{self.index.names.of(access.buffer.name)}[{self.index.index(flat)}]"
        self._elements[id(access)] = access, text
        return text

    def copy(self, store: Store) -> str | None:
        """An asynchronous copy of 4 bytes; None where the store is no copy, or of another size."""
        condition, value = unmasked(store.value)
        if not isinstance(value, Load) or store.buffer.item_bytes != _COPY_BYTES:
            return None
        if (store.buffer.scope, value.buffer.scope) != ("shared", "global"):
            return None
        valid = f", {self.value(condition)} ? {_COPY_BYTES} : 0" if condition is not None else ""
        target = self.element(Load(store.buffer, store.indices))
        return f"{self.index.helper('cp4')}(&{target}, &{self.element(value)}{valid})"

    def _operation(self, value: Op) -> str:
        if value.dtype == "bool":
            # indexes are compared as they are computed, not as 64-bit values
            if condition := condition_of(value.name, value.args):
                return f"({self.index.condition(condition)})"
            if value.name in ("eq", "ne"):
                left, right = value.args
                if isinstance(left, IndexValue) and isinstance(right, IndexValue):
                    texts = self.index.index(left.value), self.index.index(right.value)
                    return f"({texts[0]} {_INFIX[value.name]} {texts[1]})"
        return operation_text(value, [self.value(arg) for arg in value.args], self.index.helpers)


def unmasked(value: Value) -> tuple[Value | None, Value]:
    """(condition, x) of `select(condition, x, 0)`, masks within masks too; else (None, value)."""
    if isinstance(value, Op) and value.name == "select":
        condition, then, otherwise = value.args
        if isinstance(otherwise, Const) and otherwise.value == 0:
            inner, then = unmasked(then)
            return condition if inner is None else logical_and(condition, inner), then
    return None, value


def operation_text(value: Op, args: list[str], helpers: set[str]) -> str:
    """An operation on C expressions; the names of the prelude it needs are added to `helpers`."""
    name = value.name
    if name in _INFIX:
        return _wrapped(f"({args[0]} {_INFIX[name]} {args[1]})", value.dtype)
    if name == "select":
        return f"({args[0]} ? {args[1]} : {args[2]})"
    dtype = dtype_of(value.args[0])
    floating = dtype.startswith("float")
    if name == "neg":
        return _wrapped(f"(-{args[0]})", dtype)
    if name == "not":
        return f"(!{args[0]})"
    if name == "cast":
        if floating and not value.dtype.startswith(("float", "bool")):
            helpers.add("tw_whole")
            return f"tw_whole<{c_type(value.dtype)}>({args[0]})"
        return f"({c_type(value.dtype)})({args[0]})"
    if name == "div" and floating:
        return f"({args[0]} / {args[1]})"
    if name in ("max", "min"):
        helper = f"tw_{name}"
    elif name in _DIVISIONS and not floating:
        helper = _DIVISIONS[name]
    elif floating and name in FLOAT_FUNCTIONS:
        return f"{FLOAT_FUNCTIONS[name]}{'f' if dtype == 'float32' else ''}({', '.join(args)})"
    elif name == "abs":
        return args[0] if dtype.startswith("u") else _wrapped(f"abs({args[0]})", dtype)
    else:
        raise ValueError(f"kernels have no {name} of {dtype}")
    helpers.add(helper)
    return f"{helper}({', '.join(args)})"


def _wrapped(text: str, dtype: str) -> str:
    """A call, or what stands in parentheses: C computes small integers as int, these wrap."""
    return f"({c_type(dtype)}){text}" if dtype in _SMALL else text


def constant_text(value: Const, helpers: set[str]) -> str:
    """A number as a C literal of its type; names of the prelude it needs go into `helpers`."""
    if value.dtype == "bool":
        return "true" if value.value else "false"
    if not value.dtype.startswith("float"):
        return f"({c_type(value.dtype)}){int(value.value)}"
    suffix = "f" if value.dtype == "float32" else ""
    number = np.dtype(value.dtype).type(value.value)
    if not math.isfinite(number):
        name = "NAN" if math.isnan(number) else "INFINITY"
        helpers.add(name)
        return f"({'-' if number < 0 else ''}({c_type(value.dtype)}){name})"
    shortest = str(number)
    text = shortest if any(c in shortest for c in ".e") else f"{shortest}.0"
    return f"({text}{suffix})" if number < 0 else f"{text}{suffix}"
