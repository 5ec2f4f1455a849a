"""What one execution of a store computes, by kind of operation."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright_tensor.expressions.affine import Affine, Element, Var
from tilewright_tensor.expressions.dtype import is_float
from tilewright_tensor.expressions.expr import IndexValue, Load, Op, Value
from tilewright_tensor.ir.loop_ir import Store

KINDS = ("add", "multiply", "divide", "extreme", "function", "select", "integer", "index")
"""Of float operations; then integer ones, and divisions and remainders in indexes."""

_KIND = {
    "add": 0, "sub": 0, "mul": 1, "div": 2, "mod": 2, "max": 3, "min": 3, "abs": 3, "neg": 3,
    "lt": 5, "le": 5, "gt": 5, "ge": 5, "eq": 5, "ne": 5, "and": 5, "or": 5, "not": 5,
    "select": 5, "cast": 5,
}  # fmt: skip
_FUNCTION, _LOGIC, _INTEGER, _INDEX = 4, 5, 6, 7


def operations(store: Store) -> list[int]:
    """How many of each of `KINDS` one execution needs."""
    counts = [0] * len(KINDS)
    counts[_INDEX] = _divisions(store.indices)
    _count(store.value, counts)
    return counts


def _count(value: Value, counts: list[int]) -> None:
    if isinstance(value, Op):
        kind = _KIND.get(value.name, _FUNCTION)
        whole = kind != _LOGIC and not is_float(value.dtype)
        counts[_INTEGER if whole else kind] += 1
        for arg in value.args:
            _count(arg, counts)
    elif isinstance(value, Load):
        counts[_INDEX] += _divisions(value.indices)
    elif isinstance(value, IndexValue):
        counts[_INDEX] += _divisions((value.value,))


def _divisions(indices: Sequence[Affine]) -> int:
    return sum(
        1 + (0 if isinstance(atom, Element) else _divisions((atom.value,)))
        for index in indices
        for atom, _ in index.terms
        if not isinstance(atom, Var)
    )
