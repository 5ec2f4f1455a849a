"""Values as C expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from tilewright_tensor.c_text.dialect import INFIX, SMALL
from tilewright_tensor.c_text.index_text import IndexText
from tilewright_tensor.expressions.affine import Affine, Var
from tilewright_tensor.expressions.expr import Const, IndexValue, Load, Op, Value
from tilewright_tensor.ir.facts import condition_of


class ValueText:
    """Writes values, one element at a time."""

    def __init__(self, index: IndexText, accessed: set[str]) -> None:
        self.index = index
        self.accessed = accessed
        """Names of the buffers of which elements were written or read."""
        self._elements: dict[int, tuple[Load, str]] = {}
        """Text of an access by its identity, which holds as long as the access is kept here."""

    def at(self, point: Mapping[Var, Affine]) -> Self:
        """Writes the same values where variables are what the point says."""
        return type(self)(self.index.at(point), self.accessed)

    def value(self, value: Value) -> str:
        """The value as a C expression; binary operations stand in parentheses."""
        if isinstance(value, Op):
            return self._operation(value)
        if isinstance(value, Load):
            return self.element(value)
        if isinstance(value, IndexValue):
            return f"(long long)({self.index.index(value.value)})"
        assert isinstance(value, Const)
        return self.index.dialect.constant(value, self.index.helpers)

    def whole(self, value: Value) -> str:
        """The value without parentheses around it."""
        text = self.value(value)
        if not isinstance(value, Op) or value.dtype in SMALL:
            return text
        return text[1:-1] if value.name in INFIX or value.name == "select" else text

    def element(self, access: Load) -> str:
        """`buffer[index]`."""
        if known := self._elements.get(id(access)):
            return known[1]
        self.accessed.add(access.buffer.name)
        flat = self.index.flat(access.buffer, access.indices)
        text = f"{self.index.names.of(access.buffer)}[{self.index.index(flat)}]"
        self._elements[id(access)] = access, text
        return text

    def _operation(self, value: Op) -> str:
        if value.dtype == "bool":
            # indexes are compared as they are computed, not as 64-bit values
            if condition := condition_of(value.name, value.args):
                return f"({self.index.condition(condition)})"
            if value.name in ("eq", "ne"):
                left, right = value.args
                if isinstance(left, IndexValue) and isinstance(right, IndexValue):
                    texts = self.index.index(left.value), self.index.index(right.value)
                    return f"({texts[0]} {INFIX[value.name]} {texts[1]})"
        return self.operation(value, [self.value(arg) for arg in value.args])

    def operation(self, value: Op, args: list[str]) -> str:
        """The operation on C expressions in place of its operands."""
        return self.index.dialect.operation(value, args, self.index.helpers)
