"""Taps that reach all of a register tile, apart from those that reach a part of it.

Where the taps of a convolution are far apart, most of them reach all pixels of a tile or none. What
tests every pixel, term by term, is only left for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

from tilewright_tensor.expressions.affine import Affine, Bounds
from tilewright_tensor.ir.facts import Condition
from tilewright_tensor.ir.loop_ir import (
    Guard,
    Loop,
    LoopProgram,
    Statement,
    Store,
    block,
    changed_inside,
    guarded,
    inside,
    walk,
)
from tilewright_tensor.lowering.peel import renamed
from tilewright_tensor.lowering.program_pass import ProgramPass


@dataclass(frozen=True, slots=True)
class _Tested:
    """A condition that the pixels of a tile vary: that all of them meet it, that any does."""

    condition: Condition
    by_all: Condition
    by_any: Condition

    @classmethod
    def of(cls, condition: Condition, pixels: Bounds) -> _Tested:
        index, limit = condition
        varied = Affine(tuple((atom, n) for atom, n in index.terms if atom in pixels))
        low, high = varied.range(pixels)
        same = index - varied
        return cls(condition, (same, limit - high), (same, limit - low))

    @property
    def by_some(self) -> list[Condition]:
        """That some pixels meet it and some do not; empty where it is all of them or none."""
        index, limit = self.by_all
        step = gcd(*(n for _, n in index.terms))
        ends = {-(-(end - index.constant) // step) for _, end in (self.by_all, self.by_any)}
        return [(-index, 1 - limit), self.by_any] if len(ends) > 1 else []


def _whole_tiles_apart(program: LoopProgram) -> LoopProgram:
    return replace(program, body=_apart(program.body))


def _apart(statement: Statement) -> Statement:
    if isinstance(statement, Loop) and statement.kind == "serial":
        statement = _with_cases(statement, _tested(statement))
    return changed_inside(statement, _apart)


def _with_cases(loop: Loop, tested: Sequence[_Tested]) -> Loop:
    """The loop with a body for each case: all pixels meet all conditions, or one of the conditions
    is the first that only some pixels meet. Where no pixel meets one, nothing is done.
    """
    cases = []
    for number, one in enumerate(tested):
        if one.by_some:
            met, others = tested[:number], tested[number + 1 :]
            conditions = [
                *(other.by_all for other in met),
                *one.by_some,
                *(other.by_any for other in others),
            ]
            part = renamed(_without(loop.body, met), {}, f".part{number}")
            cases.append(guarded(conditions, part))
    whole = guarded([one.by_all for one in tested], _without(loop.body, tested))
    return replace(loop, body=block([*cases, whole])) if tested else loop


def _tested(loop: Loop) -> Sequence[_Tested]:
    """Conditions of all stores inside that the loop varies, and further in unrolled loops alone.

    None where a store lacks one of them: it is to be done in any case.
    """
    further = [one for one in walk(loop.body) if isinstance(one, Loop)]
    unrolled = {one.var: (0, one.extent - 1) for one in further if one.kind == "unrolled"}
    rolled = {one.var for one in further} - unrolled.keys()
    guards = [one for one in walk(loop.body) if isinstance(one, Guard)]
    found = dict.fromkeys(condition for guard in guards for condition in guard.conditions)
    tested = [
        _Tested.of(condition, unrolled)
        for condition in found
        for variables in [condition[0].variables()]
        if loop.var in variables
        and variables.isdisjoint(rolled)
        and not variables.isdisjoint(unrolled)
        and variables & unrolled.keys() <= {atom for atom, _ in condition[0].terms}
    ]
    conditions = frozenset(one.condition for one in tested)
    return tested if _covers(conditions, loop.body) else []


def _covers(conditions: frozenset[Condition], statement: Statement) -> bool:
    """Whether every store of the statement is under all conditions."""
    if isinstance(statement, Store):
        return not conditions
    if isinstance(statement, Guard):
        conditions = conditions.difference(statement.conditions)
    return all(_covers(conditions, one) for one in inside(statement))


def _without(statement: Statement, tested: Sequence[_Tested]) -> Statement:
    """The statement where all pixels meet these conditions."""
    known = {one.condition for one in tested}
    if isinstance(statement, Guard):
        left = [one for one in statement.conditions if one not in known]
        return guarded(left, _without(statement.body, tested))
    return changed_inside(statement, lambda one: _without(one, tested))


whole_tiles_apart = ProgramPass("whole tiles apart", _whole_tiles_apart)
"""Loops over taps with a case for tiles that a tap reaches in part."""
