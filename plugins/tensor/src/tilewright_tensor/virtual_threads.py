"""Virtual threads, carried out by the real ones: each runs all of them, between two barriers.

A loop of kind `vthread` is distributed over what it holds: scratch of one thread that differs
between virtual threads gets a dimension, shared scratch and barriers stay one, and every store that
differs stands in an unrolled loop. This is the lowering of Chen et al., TVM (OSDI 2018), section
4.4, without its interleaving of memory operations.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright_tensor.affine import Affine, Var
from tilewright_tensor.expr import IndexValue, Load, Value, leaves, map_value
from tilewright_tensor.loop_ir import (
    Allocate,
    Barrier,
    Block,
    Buffer,
    CopyGroup,
    CopyWait,
    Guard,
    Loop,
    Prefetch,
    Statement,
    Store,
    block,
    inside,
)


def without_virtual_threads(statement: Statement) -> Statement:
    """The same without loops of kind `vthread`; itself where there are none.

    Raises ValueError where virtual threads would meet a barrier under different conditions.
    """
    if isinstance(statement, Block):
        inner = [without_virtual_threads(one) for one in statement.statements]
        changed = any(new is not old for new, old in zip(inner, statement.statements, strict=True))
        return block(inner) if changed else statement
    if not isinstance(statement, Loop | Guard | Allocate):
        return statement
    body = without_virtual_threads(statement.body)
    if isinstance(statement, Loop) and statement.kind == "vthread":
        return _Distribution(statement.var, statement.extent).carried_out(body)
    return statement if body is statement.body else replace(statement, body=body)


class _Distribution:
    """One loop of virtual threads."""

    def __init__(self, var: Var, extent: int) -> None:
        self.var, self.extent = var, extent
        self.copies: dict[Buffer, Buffer] = {}

    def carried_out(self, body: Statement) -> Statement:
        differing: set[Buffer] = set()
        while more := set(_private_stores(body, self.var, differing, guarded=False)) - differing:
            differing |= more
        self.copies = {
            buffer: Buffer(buffer.name, (self.extent, *buffer.shape), buffer.dtype, buffer.scope)
            for buffer in differing
        }
        return self._statement(body)

    def _statement(self, statement: Statement) -> Statement:
        if isinstance(statement, Block):
            return block([self._statement(one) for one in statement.statements])
        if isinstance(statement, Barrier | CopyWait):
            return statement
        if isinstance(statement, Allocate):
            buffer = self.copies.get(statement.buffer, statement.buffer)
            return Allocate(buffer, self._statement(statement.body))
        if isinstance(statement, CopyGroup) or (
            isinstance(statement, Loop) and statement.kind != "vectorized"
        ):
            return replace(statement, body=self._statement(statement.body))
        if isinstance(statement, Guard):
            differ = _guards(statement, self.var)
            if differ and _synchronises(statement):
                raise ValueError(
                    f"a barrier stands inside a guard in which virtual threads {self.var.name} "
                    "differ"
                )
            if not differ:
                return replace(statement, body=self._statement(statement.body))
        renamed = self._renamed(statement)
        if not _mentions(renamed, self.var):
            return renamed
        return Loop(self.var, self.extent, "unrolled", renamed)

    def _renamed(self, statement: Statement) -> Statement:
        """With the virtual thread's place in scratch that has one for each."""
        if isinstance(statement, Allocate):
            buffer = self.copies.get(statement.buffer, statement.buffer)
            return Allocate(buffer, self._renamed(statement.body))
        if isinstance(statement, Loop | Guard):
            return replace(statement, body=self._renamed(statement.body))
        if isinstance(statement, Block):
            return Block(tuple(self._renamed(one) for one in statement.statements))
        if isinstance(statement, Store):
            place = self._place(Load(statement.buffer, statement.indices))
            return Store(place.buffer, place.indices, map_value(statement.value, self._leaf))
        return statement

    def _leaf(self, value: Value) -> Value:
        return self._place(value) if isinstance(value, Load) else value

    def _place(self, access: Load) -> Load:
        copy = self.copies.get(access.buffer)
        if copy is None:
            return access
        return Load(copy, (Affine(((self.var, 1),)), *access.indices))


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
    if statement.buffer.scope not in ("local", "register"):
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
    if isinstance(statement, Guard) and _guards(statement, var):
        return True
    if isinstance(statement, Store | Prefetch):
        values = leaves(statement.value) if isinstance(statement, Store) else ()
        return any(var in index.variables() for index in statement.indices) or any(
            _in_leaf(leaf, var) for leaf in values
        )
    return any(_mentions(one, var) for one in inside(statement))


def _in_leaf(leaf: Value, var: Var) -> bool:
    if isinstance(leaf, Load):
        return any(var in index.variables() for index in leaf.indices)
    return isinstance(leaf, IndexValue) and var in leaf.value.variables()


def _synchronises(statement: Statement) -> bool:
    return isinstance(statement, Barrier | CopyGroup | CopyWait) or any(
        map(_synchronises, inside(statement))
    )
