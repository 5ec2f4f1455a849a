"""Sums and maxima whose terms change nothing under a condition, with that as a guard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf

from tilewright_tensor.expressions.expr import Const, Load, Op, Value
from tilewright_tensor.ir.facts import Condition, condition_of
from tilewright_tensor.ir.loop_ir import Guard, Statement, Store

_NEUTRAL: Mapping[str, float] = {"add": 0.0, "max": -inf}
"""What changes no result of the operation."""


def without_neutral_terms(store: Store) -> Statement:
    """`if condition: sum += x * y` of `sum += select(condition, x, 0) * y`; maxima alike.

    As in TVM, 0 times an infinity or NaN counts as 0.
    """
    value = store.value
    same = Load(store.buffer, store.indices)
    if not (isinstance(value, Op) and value.name in _NEUTRAL and value.args[0] == same):
        return store
    found = _conditional(value.args[1], _NEUTRAL[value.name])
    if found is None:
        return store
    conditions, term = found
    return Guard(tuple(conditions), replace(store, value=replace(value, args=(same, term))))


def _conditional(term: Value, neutral: float) -> tuple[list[Condition], Value] | None:
    """(conditions, term where they hold) of a term that is neutral elsewhere."""
    if not isinstance(term, Op):
        return None
    if term.name == "select" and term.args[2] == Const(neutral, term.dtype):
        conditions = _conditions(term.args[0])
        if conditions is None:
            return None
        further, inner = _conditional(term.args[1], neutral) or ([], term.args[1])
        return [*conditions, *further], inner
    if term.name == "mul" and neutral == 0:
        for place, factor in enumerate(term.args):
            if found := _conditional(factor, neutral):
                factors = [*term.args]
                factors[place] = found[1]
                return found[0], replace(term, args=tuple(factors))
    return None


def _conditions(value: Value) -> list[Condition] | None:
    """A conjunction of comparisons of indexes; None for anything else."""
    if not isinstance(value, Op):
        return None
    if value.name == "and":
        sides = [_conditions(arg) for arg in value.args]
        return None if None in sides else [one for side in sides for one in side or ()]
    condition = condition_of(value.name, value.args)
    return None if condition is None else [condition]
