"""Loop peeling: tiles that overhang leave their loop, so that the others run without guards.

`for o in 4: for i in 5: if o*5 + i < 17: ...` becomes three full tiles and, with names that end in
`.tail`, one of two. A parallel loop keeps all its iterations: those of whole tiles run a body
without guards, the others one whose names end in `.edge`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import gcd

from tilewright_tensor.expressions.affine import Affine, Bounds, Element, Mod, Var
from tilewright_tensor.expressions.expr import Load, Value, map_value, substituted, with_inside
from tilewright_tensor.ir.facts import Condition, Facts
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Around,
    Block,
    CopyGroup,
    Guard,
    Loop,
    Statement,
    block,
    changed_leaves,
    guarded,
    inside,
    walk,
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
        return guarded(conditions, body)
    if not isinstance(statement, Loop):
        return statement
    loop, last = statement, statement.extent - 1
    before = Facts({**facts.bounds, loop.var: (0, last - 1)}, facts.conditions)
    if loop.kind == "serial" and _cuts_inside(loop.body, loop.var, facts, before):
        body = peeled(loop.body, before)
        full = (
            replace(loop, extent=last, body=body)
            if last > 1
            else renamed(body, {loop.var: Affine()}, "")
        )
        tail = renamed(loop.body, {loop.var: Affine((), last)}, ".tail")
        rest = peeled(tail, Facts({**facts.bounds, **ranges(tail)}, facts.conditions))
        return block([full, rest])
    wholes = _wholes(loop, facts) if loop.kind == "parallel" else ()
    body = _versions(loop, wholes, facts)
    if isinstance(body, Guard) and loop.kind in ("serial", "unrolled", "parallel"):
        return _shortened(loop, body)
    return replace(loop, body=body)


def _versions(loop: Loop, wholes: Sequence[Condition], facts: Facts) -> Statement:
    """The body of a parallel loop: without guards where tiles are whole, as it is at the edges."""
    open_ = [condition for condition in wholes if facts.holds(condition) is None]
    if not open_:
        return peeled(loop.body, facts)
    (index, limit), *others = open_
    within = _versions(loop, others, facts.with_conditions(open_[:1]))
    values = _at_the_edge(loop.var, index, limit, facts)
    edge = renamed(loop.body, values, f".edge{len(others) or ''}", facts.bounds)
    edge = peeled(edge, Facts({**facts.bounds, **ranges(edge)}, facts.conditions))
    return block([Guard(((index, limit),), within), Guard(((-index, 1 - limit),), edge)])


def _at_the_edge(var: Var, index: Affine, limit: int, facts: Facts) -> dict[Var, Affine]:
    """What stands for the variable where `index` has reached its limit, if that says enough."""
    ((atom, scale), *others) = index.terms
    if others or scale != 1 or index.range(facts.bounds)[1] > limit:
        return {}
    if isinstance(atom, Var):
        return {var: Affine((), limit)}
    if isinstance(atom, Element) or atom.value != var.affine():
        return {}
    if isinstance(atom, Mod):
        return {var: var // atom.divisor * atom.divisor + limit}
    return {var: var % atom.divisor + limit * atom.divisor}


def _wholes(loop: Loop, facts: Facts) -> list[Condition]:
    """Conditions on a parallel loop under which guards hold that a loop inside of it repeats.

    A sum would ask at every term whether its tile overhangs.
    """
    found: dict[Condition, None] = {}

    def look(statement: Statement, inner: tuple[Loop, ...]) -> None:
        if isinstance(statement, Guard):
            for index, limit in statement.conditions:
                used = index.variables()
                if any(one.kind == "serial" and one.var not in used for one in inner):
                    varied = {one.var for one in inner}
                    own = [t for t in index.terms if Affine((t,)).variables().isdisjoint(varied)]
                    if any(loop.var in Affine((t,)).variables() for t in own):
                        scale = gcd(*(coefficient for _, coefficient in own))
                        most = (index - Affine(tuple(own))).range(facts.bounds)[1]
                        whole = Affine(tuple((atom, c // scale) for atom, c in own))
                        found[whole, -((most - limit) // scale)] = None
        if isinstance(statement, Loop):
            inner = (*inner, statement)
        for one in inside(statement):
            look(one, inner)

    look(loop.body, ())
    return [*found]


def _cuts_inside(
    statement: Statement, var: Var, facts: Facts, before: Facts, inner: tuple[Var, ...] = ()
) -> bool:
    """Whether a guard that an inner loop varies too always holds only before the last turn."""
    if isinstance(statement, Block):
        return any(_cuts_inside(one, var, facts, before, inner) for one in statement.statements)
    if isinstance(statement, Guard):
        for condition in statement.conditions:
            atoms = {atom for atom, _ in condition[0].terms}
            varied = var in atoms and not atoms.isdisjoint(inner)
            if varied and before.holds(condition) and not facts.holds(condition):
                return True
    if isinstance(statement, Loop):
        inner = (*inner, statement.var)
    return isinstance(statement, Around) and _cuts_inside(statement.body, var, facts, before, inner)


def _shortened(loop: Loop, guard: Guard) -> Statement:
    """The loop ended where a condition on its variable alone would turn false for good."""
    extent = loop.extent
    kept = []
    for index, limit in guard.conditions:
        if len(index.terms) == 1 and index.terms[0][0] == loop.var and index.terms[0][1] > 0:
            extent = min(extent, -(-(limit - index.constant) // index.terms[0][1]))
        else:
            kept.append((index, limit))
    body = guarded(kept, guard.body)
    if extent <= 0:
        return Block(())
    if extent == 1:
        return renamed(body, {loop.var: Affine()}, "")
    return replace(loop, extent=extent, body=body)


def ranges(statement: Statement) -> dict[Var, tuple[int, int]]:
    """How far every loop in the statement runs."""
    loops = (one for one in walk(statement) if isinstance(one, Loop))
    return {loop.var: (0, loop.extent - 1) for loop in loops}


def renamed(
    statement: Statement,
    values: Mapping[Var, Affine],
    suffix: str,
    bounds: Bounds = {},  # noqa: B006
) -> Statement:
    """A copy with indexes for variables, its loops and scratch with a suffix to their names."""
    point = dict(values)
    if suffix:
        point |= {var: Var(var.name + suffix).affine() for var in ranges(statement)}
    scratch = (one.buffer for one in walk(statement) if isinstance(one, Allocate))
    own = {buffer: replace(buffer, name=buffer.name + suffix) for buffer in scratch}

    def named(one: Statement) -> Statement:
        if isinstance(one, Loop):
            return Loop(Var(one.var.name + suffix), one.extent, one.kind, one.body)
        if isinstance(one, Allocate):
            return Allocate(own[one.buffer], one.body)
        if isinstance(one, Guard):
            conditions = tuple((i.substitute(point, bounds), limit) for i, limit in one.conditions)
            return Guard(conditions, one.body)
        return one

    def leaf(value: Value) -> Value:
        new = substituted(value, point, bounds)
        return with_inside(in_own(new), lambda one: map_value(one, in_own))

    def in_own(value: Value) -> Value:
        if isinstance(value, Load):
            return Load(own.get(value.buffer, value.buffer), value.indices)
        return value

    return changed_leaves(statement, leaf, named, inside=False)
