"""What a computation makes of rows that nobody gave, beyond the last: the tail of a tensor.

Such rows hold anything, infinities too. A sum may run over them where each adds a zero, a maximum
where each is the least number there is.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

import numpy as np

from tilewright_tensor.evaluation.numpy_value import value_at
from tilewright_tensor.expressions.expr import Const, Op, Read, Value, values_inside


class Known(Enum):
    """What is known of a value that is no constant.

    GIVEN  it is computed from rows that were given alone
    NOTHING
    """

    GIVEN = auto()
    NOTHING = auto()


Tail = Known | float


def tail_of(value: Value, of_read: Callable[[Read], Tail]) -> Tail:
    """What an expression is, given what each of its reads is.

    A zero times a given value is taken as zero: if that has overflowed, so have the results.
    """
    if isinstance(value, Const):
        return float(value.value)
    if isinstance(value, Read):
        inside = [tail_of(one, of_read) for one in values_inside(value)]
        return Known.NOTHING if Known.NOTHING in inside else of_read(value)
    if not isinstance(value, Op):
        return Known.GIVEN
    if value.name == "select":
        condition = tail_of(value.args[0], of_read)
        if not isinstance(condition, Known):
            return tail_of(value.args[1 if condition else 2], of_read)
    parts = [tail_of(one, of_read) for one in value.args]
    if Known.NOTHING in parts:
        return Known.NOTHING
    constants = [one for one in parts if not isinstance(one, Known)]
    if len(constants) == len(parts):
        return _computed(value, constants)
    if any(_decides(value.name, place, one) for place, one in enumerate(parts)):
        return _computed(value, [1.0 if isinstance(one, Known) else one for one in parts])
    return Known.GIVEN


def _decides(name: str, place: int, part: Tail) -> bool:
    """Whether an operand, being what it is, makes the result whatever the other one is."""
    if isinstance(part, Known):
        return False
    if name in ("add", "sub"):
        return bool(np.isinf(part))
    return part == 0 and (name == "mul" or (name == "div" and place == 0))


def _computed(value: Op, parts: list[float]) -> float:
    whole = Op(value.name, tuple(Const(one, "float64") for one in parts), value.dtype)
    return float(value_at(whole, {}, _no_fetch, lambda _: np.float64))


def _no_fetch(*_: object) -> float:
    raise AssertionError("a constant reads nothing")
