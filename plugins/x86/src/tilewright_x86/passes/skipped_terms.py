"""Sums and maxima that leave out the terms which padding adds.

A padded image that is inlined into a convolution reads `select(inside, data[...], 0)`, into a
maximum `select(inside, data[...], -inf)`. Such a term, or one with such a factor, changes nothing
outside: the condition becomes a guard around the operation, and is tested where its variables are
known, not in every loop further in. Neither is a padded copy of the image written and read, nor are
the terms of its margin computed. Tiles at the edges of a row, which alone need the tests, are taken
out of the loop over the others.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright_tensor.expressions.affine import Affine, index
from tilewright_tensor.ir.facts import Condition, Facts
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Block,
    Guard,
    Loop,
    LoopProgram,
    Prefetch,
    Statement,
    Store,
    block,
    changed_inside,
    guarded,
    walk,
)
from tilewright_tensor.lowering.neutral_terms import without_neutral_terms
from tilewright_tensor.lowering.peel import ranges, renamed
from tilewright_tensor.lowering.program_pass import ProgramPass

_COPIED = 2
"""Tiles without tests for each one with them: fewer are not worth the copies of the code."""


def _skipping_neutral_terms(program: LoopProgram) -> LoopProgram:
    """The program with terms guarded; as in TVM, 0 times an infinity or NaN counts as 0."""
    body = _skipping(program.body)
    return replace(program, body=_edges_apart(body, Facts(ranges(body))))


def _skipping(statement: Statement) -> Statement:
    if isinstance(statement, Store):
        return without_neutral_terms(statement)
    if isinstance(statement, Block):
        return _in_front([_skipping(one) for one in statement.statements])
    if isinstance(statement, Loop):
        return _around(statement, _skipping(statement.body))
    if isinstance(statement, Guard):
        return _both(statement, _skipping(statement.body))
    return changed_inside(statement, _skipping)


def _around(loop: Loop, body: Statement) -> Statement:
    """The loop, inside of the conditions of its body that are the same in every iteration."""
    if not isinstance(body, Guard):
        return replace(loop, body=body)
    outer = [c for c in body.conditions if loop.var not in c[0].variables()]
    inner = [c for c in body.conditions if c not in outer]
    return guarded(outer, replace(loop, body=guarded(inner, body.body)))


def _both(guard: Guard, body: Statement) -> Guard:
    """The body under a guard's conditions, as one guard with those that it has of its own."""
    if not isinstance(body, Guard):
        return replace(guard, body=body)
    return Guard((*guard.conditions, *body.conditions), body.body)


def _in_front(statements: list[Statement]) -> Statement:
    """A block; its one guarded statement also guards the prefetches next to it."""
    guards = [one for one in statements if isinstance(one, Guard)]
    others = [one for one in statements if not isinstance(one, Guard)]
    if len(guards) != 1 or not all(isinstance(one, Prefetch) for one in others):
        return block(statements)
    (guard,) = guards
    return Guard(guard.conditions, block([*others, guard.body]))


def _edges_apart(statement: Statement, facts: Facts) -> Statement:
    if not (isinstance(statement, Loop) and isinstance(statement.body, Allocate)):
        return changed_inside(statement, lambda one: _edges_apart(one, facts))
    loop, tile = statement, statement.body
    tested = [c for c in _tested(tile) if loop.var in c[0].variables()]

    def is_edge(number: int) -> bool:
        known = Facts({**facts.bounds, loop.var: (number, number)})
        return not all(known.holds(condition) for condition in tested)

    first, last = 0, loop.extent - 1
    while first < last and is_edge(first):
        first += 1
    while last > first and is_edge(last):
        last -= 1
    others = last - first + 1
    if loop.kind != "serial" or others == loop.extent or others < _COPIED * (loop.extent - others):
        return loop
    before, after = (
        [renamed(tile, {loop.var: Affine((), number)}, f".{number}") for number in numbers]
        for numbers in (range(first), range(last + 1, loop.extent))
    )
    between = renamed(tile, {loop.var: index(loop.var) + first}, "")
    return block([*before, Loop(loop.var, others, loop.kind, between), *after])


def _tested(statement: Statement) -> list[Condition]:
    """The conditions of all guards inside."""
    guards = (one for one in walk(statement) if isinstance(one, Guard))
    return [condition for guard in guards for condition in guard.conditions]


skip_neutral_terms = ProgramPass("skip neutral terms", _skipping_neutral_terms)
"""Sums and maxima guarded: 0 times an infinity or NaN counts as 0."""
