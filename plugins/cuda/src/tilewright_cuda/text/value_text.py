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
        condition, value = unmasked(store.value)
        if not isinstance(value, Load) or store.buffer.item_bytes != _COPY_BYTES:
            return None
        if (store.buffer.scope, value.buffer.scope) != ("shared", "global"):
            return None
        valid = f", {self.value(condition)} ? {_COPY_BYTES} : 0" if condition is not None else ""
        target = self.element(Load(store.buffer, store.indices))
        return f"{self.index.helper('cp4')}(&{target}, &{self.element(value)}{valid})"


def unmasked(value: Value) -> tuple[Value | None, Value]:
    """(condition, x) of `select(condition, x, 0)`, masks within masks too; else (None, value)."""
    if isinstance(value, Op) and value.name == "select":
        condition, then, otherwise = value.args
        if isinstance(otherwise, Const) and otherwise.value == 0:
            inner, then = unmasked(then)
            return condition if inner is None else logical_and(condition, inner), then
    return None, value
