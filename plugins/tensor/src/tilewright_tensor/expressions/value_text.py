"""Printable text of expressions."""

from __future__ import annotations

from tilewright_tensor.expressions.expr import Const, IndexValue, Load, Op, Value

_INFIX = {
    "add": " + ", "sub": " - ", "mul": "*", "div": "/", "mod": " % ",
    "lt": " < ", "le": " <= ", "gt": " > ", "ge": " >= ", "eq": " == ", "ne": " != ",
    "and": " and ", "or": " or ",
}  # fmt: skip


def value_text(value: Value) -> str:
    """A value as one line, every infix operation in parentheses."""
    if isinstance(value, Const):
        return str(value.value)
    if isinstance(value, IndexValue):
        return str(value.value)
    if isinstance(value, Op):
        args = [value_text(arg) for arg in value.args]
        if value.name in _INFIX:
            return f"({args[0]}{_INFIX[value.name]}{args[1]})"
        name = value.dtype if value.name == "cast" else value.name
        return f"{name}({', '.join(args)})"
    owner = value.buffer.name if isinstance(value, Load) else value.tensor.name
    return f"{owner}[{', '.join(map(str, value.indices))}]"
