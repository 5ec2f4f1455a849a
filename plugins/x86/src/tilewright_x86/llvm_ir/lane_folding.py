"""Loops that reduce the lanes of a vector to one element."""

from __future__ import annotations

from typing import NamedTuple

from tilewright_tensor.expressions.dtype import is_float
from tilewright_tensor.expressions.expr import Load, Op
from tilewright_tensor.ir.loop_ir import Loop, Store

_FOLDED = ("add", "mul", "max", "min")


class LaneFold(NamedTuple):
    """`store.buffer[...] = operation(held, lane)`, for all lanes of what `lanes` reads."""

    store: Store
    operation: str
    held: Load
    lanes: Load


def lane_fold_of(node: Loop) -> LaneFold | None:
    """What an unrolled loop folds into one element; None where it does something else."""
    store = node.body
    if node.kind != "unrolled" or node.extent < 2 or node.extent & (node.extent - 1):
        return None
    if not isinstance(store, Store) or not isinstance(store.value, Op):
        return None
    value = store.value
    if value.name not in _FOLDED or not is_float(value.dtype):
        return None
    held, lanes = value.args
    if not isinstance(held, Load) or not isinstance(lanes, Load):
        return None
    if (held.buffer, held.indices) != (store.buffer, store.indices) or not lanes.indices:
        return None
    if any(node.var in index.variables() for index in (*store.indices, *lanes.indices[:-1])):
        return None
    steps = dict(lanes.indices[-1].terms)
    others = lanes.indices[-1] - node.var
    if steps.get(node.var) != 1 or node.var in others.variables():
        return None
    return LaneFold(store, value.name, held, lanes)
