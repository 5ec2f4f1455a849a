"""What an expression is at one point, quickly: drawing tries many points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tilewright.space.feasible.constraint import OPERATIONS, Binary, Constant, Expression, Not
from tilewright.space.feasible.intervals import Interval

Value: TypeAlias = Callable[[Sequence[Interval]], Any]
"""From atoms that are all known to the value of an expression; may raise ZeroDivisionError."""


def compile_value(expression: Expression, slots: Mapping[int, int]) -> Value:
    """A function from the atoms, as intervals of one point, to the expression's value.

    slots   of the atoms (see `atoms_of`), by identity
    """
    slot = slots.get(id(expression))
    if slot is not None:

        def atom(atoms: Sequence[Interval]) -> Any:
            known = atoms[slot]
            if known is None:
                raise ZeroDivisionError
            return known[0]

        return atom
    if isinstance(expression, Constant):
        constant = expression.value
        return lambda _: constant
    if isinstance(expression, Not):
        operand = compile_value(expression.operand, slots)
        return lambda atoms: not operand(atoms)
    assert isinstance(expression, Binary)
    left, right = compile_value(expression.left, slots), compile_value(expression.right, slots)
    if expression.operation == "and":
        return lambda atoms: bool(left(atoms)) and bool(right(atoms))
    if expression.operation == "or":
        return lambda atoms: bool(left(atoms)) or bool(right(atoms))
    apply = OPERATIONS[expression.operation]
    return lambda atoms: apply(left(atoms), right(atoms))
