"""Steps of sums that are left out where all their terms are zero.

A sum of `select(exists, x * y, 0)` in a tile adds nothing where the condition does not hold. Where
it is the same for a whole step, and for all threads of the block, the step is guarded by it: with
the copies to shared memory and the barriers, or without them where the copies were made ahead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilewright_tensor.expressions.affine import Var
from tilewright_tensor.ir.facts import Condition
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Guard,
    Loop,
    LoopProgram,
    Statement,
    Store,
    changed_inside,
    guarded,
    stores,
    walk,
)
from tilewright_tensor.lowering.neutral_terms import without_neutral_terms
from tilewright_tensor.lowering.program_pass import ProgramPass


def _skipping(program: LoopProgram) -> LoopProgram:
    threads = {loop.var for loop in _loops(program.body) if loop.kind.startswith("threadIdx")}
    return replace(program, body=_skipped(program.body, frozenset(threads)))


def _skipped(statement: Statement, threads: frozenset[Var]) -> Statement:
    """The statement with steps guarded that do nothing but add zero, the outermost ones."""
    conditions = _needed(statement, threads) if isinstance(statement, Loop) else []
    if not conditions:
        return changed_inside(statement, lambda one: _skipped(one, threads))
    assert isinstance(statement, Loop)
    inner = [one for one in conditions if statement.var in one[0].variables()]
    outer = [one for one in conditions if one not in inner]
    body = _without(conditions, statement.body)
    return guarded(outer, replace(statement, body=guarded(inner, body)))


def _needed(loop: Loop, threads: frozenset[Var]) -> list[Condition]:
    """Conditions without which a turn of the loop changes nothing that outlives it."""
    if loop.kind not in ("serial", "unrolled"):
        return []
    own = {one.buffer.name for one in walk(loop.body) if isinstance(one, Allocate)}
    sums = [without_neutral_terms(one) for one in stores(loop.body) if one.buffer.name not in own]
    guards = [one for one in sums if isinstance(one, Guard)]
    if not guards or len(guards) < len(sums):
        return []
    varying = threads.union(one.var for one in _loops(loop.body))
    return [
        condition
        for condition in guards[0].conditions
        if all(condition in guard.conditions for guard in guards)
        and varying.isdisjoint(condition[0].variables())
    ]


def _without(known: list[Condition], statement: Statement) -> Statement:
    """The statement with its sums under those conditions only that are not known to hold."""
    if not isinstance(statement, Store):
        return changed_inside(statement, lambda one: _without(known, one))
    found = without_neutral_terms(statement)
    if not isinstance(found, Guard):
        return statement
    return guarded([one for one in found.conditions if one not in known], found.body)


def _loops(statement: Statement) -> Iterator[Loop]:
    return (one for one in walk(statement) if isinstance(one, Loop))


skip_zero_steps = ProgramPass("skip zero steps", _skipping)
"""Steps of sums guarded: 0 times an infinity or NaN counts as 0."""
