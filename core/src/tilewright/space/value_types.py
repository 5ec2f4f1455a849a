"""Which types an expression can have: expressions from files are refused where types do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Set

from tilewright.errors import UsageError
from tilewright.space.entities.knob_values import KnobValues
from tilewright.space.feasible.constraint import Binary, Constant, Expression, Item, Knob, Product

_NUMBERS = frozenset({int, float, bool})
_OF_ANYTHING = ("and", "or", "==", "!=")
_OF_TEXTS = ("<", "<=", ">", ">=")


def value_types(expression: Expression, knobs: Mapping[str, KnobValues]) -> Set[type]:
    """The types of its values over these knobs, which are all that it reads.

    Raises UsageError where it takes an entry that no value has, or computes with what is never a
    number; where it sometimes is, `(knob == None) | (knob <= 3)` is a way to ask first.
    """
    match expression:
        case Constant(value):
            return {type(value)}
        case Knob(name):
            return set(map(type, knobs[name].values))
        case Item(Knob(name), index):
            lists = [value for value in knobs[name].values if isinstance(value, tuple)]
            found = {type(value[index]) for value in lists if -len(value) <= index < len(value)}
            if not found:
                raise UsageError(
                    f"'{expression}' is an entry that no value of '{name}' has",
                    remedy="take entries of splits and of lists that are long enough",
                )
            return found
        case Product(Knob(name), start):
            lists = [value for value in knobs[name].values if isinstance(value, tuple)]
            if not any(_NUMBERS.issuperset(map(type, value[start:])) for value in lists):
                raise _no_number(expression)
            return {int}
        case Binary(operation, _, _) if operation not in _OF_ANYTHING:
            types = [value_types(part, knobs) for part in expression.parts()]
            if operation in _OF_TEXTS and all(str in each for each in types):
                return {bool}
            for part, each in zip(expression.parts(), types, strict=True):
                if each and _NUMBERS.isdisjoint(each):
                    raise _no_number(part)
            return {int}
    for part in expression.parts():
        value_types(part, knobs)
    return {bool}


def _no_number(expression: Expression) -> UsageError:
    return UsageError(
        f"'{expression}' is no number", remedy="compute with numbers and factors of splits"
    )
