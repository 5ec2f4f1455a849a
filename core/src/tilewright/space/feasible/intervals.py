"""What an expression can still become while some of its knobs are open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tilewright.space.feasible.constraint import OPERATIONS, Binary, Constant, Expression, Knob, Not

Interval: TypeAlias = tuple[Any, Any] | None
"""(least, greatest), both the same once the value is known; None where nothing can be said."""

Bound: TypeAlias = Callable[[Sequence[Interval]], Interval]
"""From the intervals of the atoms to the interval of an expression."""

_ANY_TRUTH = (False, True)


def atoms_of(expression: Expression) -> list[Expression]:
    """The largest parts that read one knob only, from left to right."""
    return _knobs_and_atoms(expression)[1]


def compile_bound(expression: Expression, slots: Mapping[int, int]) -> Bound:
    """A function from the atoms' intervals to the expression's.

    An interval from known atoms is one point. Where the expression divides by zero it may be any:
    such a point is left to `compile_value`.

    slots   of the atoms, by identity
    """
    slot = slots.get(id(expression))
    if slot is not None:
        return lambda atoms: atoms[slot]
    if isinstance(expression, Constant):
        constant = (expression.value, expression.value)
        return lambda _: constant
    if isinstance(expression, Not):
        operand = compile_bound(expression.operand, slots)
        return lambda atoms: _negated(_truth(operand(atoms)))
    assert isinstance(expression, Binary)
    left, right = compile_bound(expression.left, slots), compile_bound(expression.right, slots)
    if expression.operation == "and":
        return lambda atoms: _both(_truth(left(atoms)), _truth(right(atoms)))
    if expression.operation == "or":
        return lambda atoms: _negated(
            _both(_negated(_truth(left(atoms))), _negated(_truth(right(atoms))))
        )
    name, apply = expression.operation, OPERATIONS[expression.operation]
    return lambda atoms: _combine(name, apply, left(atoms), right(atoms))


def hull(values: Sequence[Any]) -> Interval:
    """The interval around some values; None where they are not all numbers and differ."""
    first = values[0]
    if all(value is first or value == first for value in values):
        return (first, first)
    if all(isinstance(value, int | float) for value in values):
        return (min(values), max(values))
    return None


def _knobs_and_atoms(expression: Expression) -> tuple[frozenset[str], list[Expression]]:
    parts = [_knobs_and_atoms(part) for part in expression.parts()]
    knobs = frozenset[str]().union(*(knobs for knobs, _ in parts))
    if isinstance(expression, Knob):
        knobs = frozenset([expression.name])
    if len(knobs) == 1:
        return knobs, [expression]
    return knobs, [atom for _, atoms in parts for atom in atoms]


def _combine(
    name: str, apply: Callable[[Any, Any], Any], left: Interval, right: Interval
) -> Interval:
    if left is None or right is None:
        return None
    (a, b), (c, d) = left, right
    if a == b and c == d:
        try:
            value = apply(a, c)
        except (ZeroDivisionError, TypeError):  # what `or` guards the other side against
            return None
        return (value, value)
    if not (isinstance(a, int | float) and isinstance(c, int | float)):
        return None
    match name:
        case "+":
            return (a + c, b + d)
        case "-":
            return (a - d, b - c)
        case "*":
            corners = (a * c, a * d, b * c, b * d)
            return (min(corners), max(corners))
        case "//" if c > 0 or d < 0:
            corners = (a // c, a // d, b // c, b // d)
            return (min(corners), max(corners))
        case "%" if c > 0:
            return (a, b) if a >= 0 and b < c else (0, d)
        case "<":
            return _order(b < c, a >= d)
        case "<=":
            return _order(b <= c, a > d)
        case ">":
            return _order(a > d, b <= c)
        case ">=":
            return _order(a >= d, b < c)
        case "==":
            return _order(False, b < c or d < a)
        case "!=":
            return _order(b < c or d < a, False)
    return None


def _order(surely: bool, never: bool) -> Interval:
    return (surely, not never)


def _truth(interval: Interval) -> Interval:
    if interval is None:
        return None
    least, greatest = interval
    if least == greatest:
        return (bool(least), bool(least))
    # Between two different numbers zero may lie; beyond them it does not.
    return (True, True) if least > 0 or greatest < 0 else _ANY_TRUTH


def _negated(truth: Interval) -> Interval:
    return None if truth is None else (not truth[1], not truth[0])


def _both(left: Interval, right: Interval) -> Interval:
    if left == (False, False) or right == (False, False):
        return (False, False)
    if left is None or right is None:
        return None
    return (left[0] and right[0], left[1] and right[1])
