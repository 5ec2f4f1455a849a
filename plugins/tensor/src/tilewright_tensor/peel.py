"""Loop peeling: tiles that overhang leave their loop, so that the others run without guards.

`for o in 4: for i in 5: if o*5 + i < 17: ...` becomes three full tiles and, with names that end in
`.tail`, one of two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright_tensor.affine import Affine, Var
from tilewright_tensor.expr import IndexValue, Load, Value, map_value
from tilewright_tensor.facts import Facts
from tilewright_tensor.loop_ir import (
    Allocate,
    Around,
    Block,
    Buffer,
    CopyGroup,
    Guard,
    Loop,
    Prefetch,
    Statement,
    Store,
    block,
    inside,
)


def peeled(statement: Statement, facts: Facts) -> Statement:
    """The statement with last iterations split off where only they need their guards."""
    if isinstance(statement, Block):
        return block([peeled(one, facts) for one in statement.statements])
    if isinstance(statement, Allocate | CopyGroup):
        return replace(statement, body=peeled(statement.body, facts))
    if isinstance(statement, Guard):
        known = [facts.holds(condition) for condition in statement.conditions]
        if False in known:
            return Block(())
        conditions = tuple(
            c for c, holds in zip(statement.conditions, known, strict=True) if not holds
        )
        body = peeled(statement.body, facts.with_conditions(conditions))
        return Guard(conditions, body) if conditions else body
    if not isinstance(statement, Loop):
        return statement
    loop, last = statement, statement.extent - 1
    if loop.kind == "serial" and _cuts_inside(loop.body, loop.var, _but(facts, loop, last)):
        body = peeled(loop.body, _but(facts, loop, last))
        full = (
            Loop(loop.var, last, "serial", body)
            if last > 1
            else renamed(body, {loop.var: Affine()}, "")
        )
        tail = renamed(loop.body, {loop.var: Affine((), last)}, ".tail")
        rest = peeled(tail, Facts({**facts.bounds, **ranges(tail)}, facts.conditions))
        return block([full, rest])
    body = peeled(loop.body, facts)
    if isinstance(body, Guard) and loop.kind in ("serial", "unrolled", "parallel"):
        return _shortened(Loop(loop.var, loop.extent, loop.kind, body), body)
    return Loop(loop.var, loop.extent, loop.kind, body)


def _but(facts: Facts, loop: Loop, extent: int) -> Facts:
    return Facts({**facts.bounds, loop.var: (0, extent - 1)}, facts.conditions)


def _cuts_inside(statement: Statement, var: Var, facts: Facts, inner: tuple[Var, ...] = ()) -> bool:
    """Whether a guard that an inner loop varies too holds throughout within these facts."""
    if isinstance(statement, Block):
        return any(_cuts_inside(one, var, facts, inner) for one in statement.statements)
    if isinstance(statement, Guard):
        for condition in statement.conditions:
            atoms = {atom for atom, _ in condition[0].terms}
            if var in atoms and not atoms.isdisjoint(inner) and facts.holds(condition):
                return True
    if isinstance(statement, Loop):
        inner = (*inner, statement.var)
    return isinstance(statement, Around) and _cuts_inside(statement.body, var, facts, inner)


def _shortened(loop: Loop, guard: Guard) -> Statement:
    """The loop ended where a condition on its variable alone would turn false for good."""
    extent = loop.extent
    kept = []
    for index, limit in guard.conditions:
        if len(index.terms) == 1 and index.terms[0][0] == loop.var and index.terms[0][1] > 0:
            extent = min(extent, -(-(limit - index.constant) // index.terms[0][1]))
        else:
            kept.append((index, limit))
    body = Guard(tuple(kept), guard.body) if kept else guard.body
    if extent <= 0:
        return Block(())
    return (
        Loop(loop.var, extent, loop.kind, body)
        if extent > 1
        else renamed(body, {loop.var: Affine()}, "")
    )


def ranges(statement: Statement) -> dict[Var, tuple[int, int]]:
    """How far every loop in the statement runs."""
    found = {var: span for one in inside(statement) for var, span in ranges(one).items()}
    if isinstance(statement, Loop):
        found[statement.var] = (0, statement.extent - 1)
    return found


def renamed(statement: Statement, values: Mapping[Var, Affine], suffix: str) -> Statement:
    """A copy at fixed values of variables, its loops and scratch with a suffix to their names."""
    return _Copy(suffix).statement(statement, values, {})


class _Copy:
    def __init__(self, suffix: str) -> None:
        self.suffix = suffix

    def statement(
        self, statement: Statement, values: Mapping[Var, Affine], buffers: Mapping[Buffer, Buffer]
    ) -> Statement:
        def indices(given: tuple[Affine, ...]) -> tuple[Affine, ...]:
            return tuple(index.substitute(values) for index in given)

        def leaf(value: Value) -> Value:
            if isinstance(value, Load):
                return Load(buffers.get(value.buffer, value.buffer), indices(value.indices))
            return (
                IndexValue(value.value.substitute(values))
                if isinstance(value, IndexValue)
                else value
            )

        if isinstance(statement, Block):
            return Block(
                tuple(self.statement(one, values, buffers) for one in statement.statements)
            )
        if isinstance(statement, Loop):
            var = Var(statement.var.name + self.suffix)
            inner = {**values, statement.var: Affine(((var, 1),))} if self.suffix else values
            return Loop(
                var,
                statement.extent,
                statement.kind,
                self.statement(statement.body, inner, buffers),
            )
        if isinstance(statement, CopyGroup):
            return CopyGroup(self.statement(statement.body, values, buffers))
        if isinstance(statement, Guard):
            conditions = tuple(
                (index.substitute(values), limit) for index, limit in statement.conditions
            )
            return Guard(conditions, self.statement(statement.body, values, buffers))
        if isinstance(statement, Allocate):
            old = statement.buffer
            new = Buffer(old.name + self.suffix, old.shape, old.dtype, old.scope)
            return Allocate(new, self.statement(statement.body, values, {**buffers, old: new}))
        if isinstance(statement, Store):
            buffer = buffers.get(statement.buffer, statement.buffer)
            return Store(buffer, indices(statement.indices), map_value(statement.value, leaf))
        if isinstance(statement, Prefetch):
            buffer = buffers.get(statement.buffer, statement.buffer)
            return Prefetch(buffer, indices(statement.indices), statement.offset_bytes)
        return statement
