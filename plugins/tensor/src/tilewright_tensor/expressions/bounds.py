"""How deep and how large the expression for an element may be.

Code generation follows expressions from operand to operand, and schedules write them out whole: a
definition that Python unrolls into thousands of operations is refused where it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tilewright.errors import UsageError
from tilewright_tensor.expressions.expr import Op, Read, Value, values_inside

DEEPEST = 256
"""Operations within each other."""

MOST_OPERATIONS = 1 << 14
"""Of an element, what is used in several places counted in each."""


class Size(NamedTuple):
    """Of an expression: operations within each other, and all of them."""

    depth: int
    operations: int


NOTHING = Size(0, 0)


def size_of(value: Value, read: Callable[[Read], Size]) -> Size:
    """The size of an expression; `read` gives that of what a read stands for."""
    known: dict[int, Size] = {}
    pending = [value]
    while pending:
        one = pending[-1]
        inner = one.args if isinstance(one, Op) else values_inside(one)
        unknown = [arg for arg in inner if id(arg) not in known]
        if unknown:
            pending += unknown
            continue
        pending.pop()
        sizes = [known[id(arg)] for arg in inner]
        if isinstance(one, Read):
            sizes.append(read(one))
        depth = max((size.depth for size in sizes), default=0)
        operations = sum(size.operations for size in sizes)
        own = isinstance(one, Op)
        known[id(one)] = Size(depth + own, operations + own)
    return known[id(value)]


def check_size(stage: str, size: Size) -> None:
    """Raise UsageError for an expression that is too deep or too large."""
    if size.depth > DEEPEST or size.operations > MOST_OPERATIONS:
        raise UsageError(
            f"compute {stage}: an element takes {size.operations} operations, {size.depth} of them "
            f"within each other; at most {MOST_OPERATIONS} and {DEEPEST} are compiled: "
            "add up over a reduce_axis, or make several operators of it"
        )
