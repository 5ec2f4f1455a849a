"""Virtual threads, carried out by the real ones: each runs all of them, between two barriers.

A loop of kind `vthread` is distributed over what it holds: scratch of one thread that differs
between virtual threads gets a dimension, shared scratch and barriers stay one, and every store that
differs stands in an unrolled loop. This is the lowering of Chen et al., TVM (OSDI 2018), section
4.4, without its interleaving of memory operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright_tensor.expressions.affine import Affine, Var
from tilewright_tensor.expressions.buffer import IN_REGISTERS, Buffer
from tilewright_tensor.expressions.expr import Load, Value, indexes_in, leaves
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Around,
    Block,
    Guard,
    Loop,
    Prefetch,
    Statement,
    Store,
    changed_inside,
    changed_leaves,
    inside,
    synchronises,
    walk,
)


def without_virtual_threads(statement: Statement) -> Statement:
    """The same without loops of kind `vthread`; itself where there are none.

    Raises ValueError where virtual threads would meet a barrier under different conditions.
    """
    lowered = changed_inside(statement, without_virtual_threads)
    if not isinstance(lowered, Loop) or lowered.kind != "vthread":
        return lowered
    return _distributed(_with_private_scratch(lowered), lowered)


def _with_private_scratch(loop: Loop) -> Statement:
    """The loop's body, a place for each virtual thread in the scratch in which they differ."""
    differing: set[Buffer] = set()
    while more := set(_private_stores(loop.body, loop.var, differing, guarded=False)) - differing:
        differing |= more
    wider = {buffer: replace(buffer, shape=(loop.extent, *buffer.shape)) for buffer in differing}

    def leaf(value: Value) -> Value:
        if isinstance(value, Load) and value.buffer in wider:
            return Load(wider[value.buffer], (loop.var.affine(), *value.indices))
        return value

    def allocated(one: Statement) -> Statement:
        if isinstance(one, Allocate):
            return replace(one, buffer=wider.get(one.buffer, one.buffer))
        return one

    return changed_leaves(loop.body, leaf, allocated)


def _distributed(statement: Statement, loop: Loop) -> Statement:
    """The statement with whatever the loop's variable is in done for all virtual threads."""
    if isinstance(statement, Guard) and _guards(statement, loop.var):
        if synchronises(statement):
            raise ValueError(
                f"a barrier stands inside a guard in which virtual threads {loop.var.name} differ"
            )
    elif isinstance(statement, Block | Around) and not _is_vectorized(statement):
        return changed_inside(statement, lambda one: _distributed(one, loop))
    if not _mentions(statement, loop.var):
        return statement
    return Loop(loop.var, loop.extent, "unrolled", statement)


def _is_vectorized(statement: Statement) -> bool:
    return isinstance(statement, Loop) and statement.kind == "vectorized"


def _private_stores(
    statement: Statement, var: Var, differing: set[Buffer], *, guarded: bool
) -> list[Buffer]:
    """Scratch of one thread whose content depends on the variable or on what differs already."""
    if isinstance(statement, Guard):
        guarded = guarded or _guards(statement, var)
    if not isinstance(statement, Store):
        return [
            buffer
            for one in inside(statement)
            for buffer in _private_stores(one, var, differing, guarded=guarded)
        ]
    if statement.buffer.scope not in ("local", *IN_REGISTERS):
        return []
    if (
        guarded
        or _mentions(statement, var)
        or any(
            isinstance(leaf, Load) and leaf.buffer in differing for leaf in leaves(statement.value)
        )
    ):
        return [statement.buffer]
    return []


def _guards(guard: Guard, var: Var) -> bool:
    return any(var in index.variables() for index, _ in guard.conditions)


def _mentions(statement: Statement, var: Var) -> bool:
    return any(var in index.variables() for one in walk(statement) for index in _indexes(one))


def _indexes(statement: Statement) -> Sequence[Affine]:
    """What the statement itself tests, stores to, reads or fetches."""
    if isinstance(statement, Guard):
        return [index for index, _ in statement.conditions]
    if isinstance(statement, Store):
        return [*statement.indices, *indexes_in(statement.value)]
    return statement.indices if isinstance(statement, Prefetch) else ()
