"""How one kind of C is written: its types and functions, and what small helpers are called."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from tilewright_tensor.expressions.dtype import is_float, is_whole, numpy_type
from tilewright_tensor.expressions.expr import Const, Op, dtype_of

INFIX: Mapping[str, str] = {
    "add": "+", "sub": "-", "mul": "*", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
    "ne": "!=", "and": "&&", "or": "||", "bitand": "&", "bitor": "|", "bitxor": "^", "shl": "<<",
    "shr": ">>",
}  # fmt: skip
"""Operations that stand between their operands."""
SMALL = frozenset({"int8", "int16", "uint8", "uint16"})
"""What C computes as int, so that results are to be converted back: they wrap."""
_DIVISIONS = {
    "div": "tw_floor_div", "mod": "tw_floor_mod", "quo": "tw_quo", "rem": "tw_rem",
}  # fmt: skip


class Dialect:
    """What every C has; a kind of C inherits, changes the tables and adds its helpers.

    Helpers are functions that the texts call: `tw_max` and `tw_min`, of which NaN wins, `tw_quo`,
    `tw_rem`, `tw_floor_div` and `tw_floor_mod` of whole numbers, 0 by 0, and `tw_whole`, which
    converts a float to a whole number. Whoever writes a text collects the names that it used.

    types       C's type by dtype; other dtypes are refused
    functions   C's function on float64 by operation; that on float32 has an `f` behind its name
    reserved    words that no variable may be called
    """

    types: ClassVar[Mapping[str, str]] = {
        "float32": "float", "float64": "double", "bool": "bool",
        "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
        "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned",
        "uint64": "unsigned long long",
    }  # fmt: skip
    functions: ClassVar[Mapping[str, str]] = {
        "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "sqrt": "sqrt",
        "tanh": "tanh", "erf": "erf", "sin": "sin", "cos": "cos", "floor": "floor", "ceil": "ceil",
        "round": "rint", "abs": "fabs", "pow": "pow", "rem": "fmod",
    }  # fmt: skip
    reserved: ClassVar[frozenset[str]] = frozenset()

    def type_of(self, dtype: str) -> str:
        """The C type of a dtype. Raises ValueError for one that it does not have."""
        try:
            return self.types[dtype]
        except KeyError:
            raise ValueError(f"kernels have no values of dtype {dtype}") from None

    def call(
        self, name: str, dtype: str, args: Sequence[str], helpers: set[str], result: str = ""
    ) -> str:
        """A call of a helper on operands of a dtype, `result` where it gives another.

        Without overloading, each dtype has a helper of its own: `tw_max_float32`.
        """
        full = "_".join(filter(None, (name, dtype, result)))
        helpers.add(full)
        return f"{full}({', '.join(args)})"

    def index_division(
        self, name: str, text: str, divisor: int, helpers: set[str], *, wide: bool
    ) -> str:
        """`tw_floor_div` or `tw_floor_mod` of an index that may be negative."""
        return self.call(name, "int64" if wide else "int32", [text, str(divisor)], helpers)

    def absolute(self, text: str, dtype: str, helpers: set[str]) -> str:
        """The absolute value of a whole number that has a sign."""
        return self.call("tw_abs", dtype, [text], helpers)

    def wrapped(self, text: str, dtype: str) -> str:
        """A call, or what stands in parentheses, converted back to a small dtype."""
        return f"({self.type_of(dtype)}){text}" if dtype in SMALL else text

    def operation(self, value: Op, args: Sequence[str], helpers: set[str]) -> str:
        """An operation on C expressions; binary ones in parentheses. ValueError where C has none.

        Whole numbers wrap: gcc and clang need `-fwrapv` for that.
        """
        name, dtype = value.name, dtype_of(value.args[0])
        floating = is_float(dtype)
        if name in INFIX:
            return self.wrapped(f"({args[0]} {INFIX[name]} {args[1]})", value.dtype)
        if name == "select":
            return f"({args[0]} ? {args[1]} : {args[2]})"
        if name == "neg":
            return self.wrapped(f"(-{args[0]})", dtype)
        if name == "not":
            return f"(!{args[0]})"
        if name == "cast":
            if floating and is_whole(value.dtype):
                return self.call("tw_whole", dtype, args, helpers, value.dtype)
            return f"({self.type_of(value.dtype)})({args[0]})"
        if name == "div" and floating:
            return f"({args[0]} / {args[1]})"
        if name in ("max", "min"):
            return self.call(f"tw_{name}", dtype, args, helpers)
        if name in _DIVISIONS and not floating:
            return self.call(_DIVISIONS[name], dtype, args, helpers)
        if floating and name in self.functions:
            suffix = "f" if dtype == "float32" else ""
            return f"{self.functions[name]}{suffix}({', '.join(args)})"
        if name == "abs":
            return args[0] if dtype.startswith("u") else self.absolute(args[0], dtype, helpers)
        raise ValueError(f"kernels have no {name} of {dtype}")

    def constant(self, value: Const, helpers: set[str]) -> str:
        """A number as a literal of its type; `NAN` and `INFINITY` count as helpers."""
        kind = self.type_of(value.dtype)
        if value.dtype == "bool":
            return "true" if value.value else "false"
        if not is_float(value.dtype):
            return f"({kind}){int(value.value)}"
        suffix = "f" if value.dtype == "float32" else ""
        number = numpy_type(value.dtype).type(value.value)
        if not math.isfinite(number):
            name = "NAN" if math.isnan(number) else "INFINITY"
            helpers.add(name)
            return f"({'-' if number < 0 else ''}({kind}){name})"
        shortest = str(number)
        text = shortest if any(c in shortest for c in ".e") else f"{shortest}.0"
        return f"({text}{suffix})" if number < 0 else f"{text}{suffix}"
