"""What a computation makes of rows that nobody gave, beyond the last: the tail of a tensor.

Such rows hold anything, infinities too. A sum may run over them where each adds a zero, a maximum
where each is the least number there is.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

import numpy as np

from tilewright_tensor.evaluation.numpy_value import value_at
from tilewright_tensor.expressions.dtype import is_whole
from tilewright_tensor.expressions.expr import (
    Const,
    IndexValue,
    Op,
    Read,
    Value,
    dtype_of,
    values_inside,
)


class Known(Enum):
    """What is known of a value that is no constant.

    GIVEN    it is computed from rows that were given alone
    NOTHING  it may be anything
    """

    GIVEN = auto()
    NOTHING = auto()


Number = int | float
End = Known | Number


def tail_of(value: Value, of_read: Callable[[Read], End]) -> End:
    """What an expression is, given what each of its reads is.

    A zero times a given value is taken as zero, which it is unless that is infinite or NaN. What is
    computed of whole numbers is not followed.
    """
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Read | IndexValue):
        inside = [tail_of(one, of_read) for one in values_inside(value)]
        if Known.NOTHING in inside:
            return Known.NOTHING
        return of_read(value) if isinstance(value, Read) else Known.GIVEN
    assert isinstance(value, Op)
    parts = [tail_of(one, of_read) for one in value.args]
    if value.name == "select":
        condition, *sides = parts
        if not isinstance(condition, Known):
            return sides[0 if condition else 1]
        if sides[0] == sides[1] and not isinstance(sides[0], Known):
            return sides[0]
    if Known.NOTHING in parts or is_whole(dtype_of(value)):
        return Known.NOTHING
    constants = [one for one in parts if not isinstance(one, Known)]
    if len(constants) == len(parts):
        return _computed(value, constants)
    if any(_decides(value.name, place, one) for place, one in enumerate(parts)):
        return _computed(value, [1.0 if isinstance(one, Known) else one for one in parts])
    return Known.GIVEN


def _decides(name: str, place: int, part: End) -> bool:
    """Whether an operand, being what it is, makes the result whatever the other one is."""
    if isinstance(part, Known):
        return False
    if name in ("add", "sub"):
        return bool(np.isinf(part))
    return part == 0 and (name == "mul" or (name == "div" and place == 0))


def _computed(value: Op, parts: list[Number]) -> float:
    whole = Op(value.name, tuple(Const(one, "float64") for one in parts), value.dtype)
    return float(value_at(whole, {}, _no_fetch, lambda _: np.float64))


def _no_fetch(*_: object) -> float:
    raise AssertionError("a constant reads nothing")
