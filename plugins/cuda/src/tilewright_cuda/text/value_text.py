"""Values of kernels as CUDA C, and asynchronous copies of them."""

from __future__ import annotations

from tilewright_tensor.c_text.value_text import ValueText
from tilewright_tensor.expressions.expr import Const, Load, Op, Value, logical_and
from tilewright_tensor.ir.loop_ir import Store

_COPY_BYTES = 4


class KernelValues(ValueText):
    """Writes values, one element at a time; stores as copies where they can be."""

    def copy(self, store: Store) -> str | None:
        """An asynchronous copy of 4 bytes; None where the store is no copy, or of another size."""
        if not is_copy(store):
            return None
        condition, value = unmasked(store.value)
        valid = f", {self.value(condition)} ? {_COPY_BYTES} : 0" if condition is not None else ""
        target, source = Load(store.buffer, store.indices), self.value(value)
        return f"{self.index.helper('cp4')}(&{self.element(target)}, &{source}{valid})"


def is_copy(store: Store) -> bool:
    """Whether what is stored is an element of memory of 4 bytes, or zero where a mask says so."""
    _, value = unmasked(store.value)
    return (
        isinstance(value, Load)
        and store.buffer.item_bytes == _COPY_BYTES
        and (store.buffer.scope, value.buffer.scope) == ("shared", "global")
    )


def unmasked(value: Value) -> tuple[Value | None, Value]:
    """(condition, x) of `select(condition, x, 0)`, masks within masks too; else (None, value)."""
    if isinstance(value, Op) and value.name == "select":
        condition, then, otherwise = value.args
        if isinstance(otherwise, Const) and otherwise.value == 0:
            inner, then = unmasked(then)
            return condition if inner is None else logical_and(condition, inner), then
    return None, value
