"""Attributes of operators: their canonical form and their defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from tilewright.sizes import MOST_STEP
from tilewright_tensor.expressions.dtype import DTYPES

Attributes = Mapping[str, Any]
"""Name to canonical value."""
REQUIRED = object()
"""Default of an attribute that must be given."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """Name, default and canonical form.

    Equal meanings must get equal values, or equal layers get different keys.

    canonical   makes the one JSON value from what a user may write; raises ValueError or TypeError
    default     any value that `canonical` takes; `REQUIRED` where there is none
    of_rank     makes one of the canonical values that mean the same on a first operand of this
                rank, as the axes -1 and 3; values that mean nothing stay as they are
    since       the version that added it to an operator that others know without it, empty for
                those that the operator began with: at its default it stays out of workloads, so
                that their keys are those of before

    Raises ValueError for one that was added later and has no default.
    """

    name: str
    canonical: Callable[[Any], Any]
    default: Any = REQUIRED
    of_rank: Callable[[Any, int], Any] = lambda value, _rank: value
    since: str = ""

    def __post_init__(self) -> None:
        if self.since and self.default is REQUIRED:
            raise ValueError(f"the attribute {self.name!r}, added later, needs a default")

    def at_default(self, rank: int | None = None) -> Any:
        """The canonical form of its default, for a first operand of `rank` where it is known."""
        canonical = self.canonical(self.default)
        return canonical if rank is None else self.of_rank(canonical, rank)


def integer(value: Any) -> int:
    """A whole number; 2.0 is one, True is none."""
    if isinstance(value, bool | str) or int(value) != value:
        raise ValueError(f"expected a whole number, got {value!r}")
    return int(value)


def number(value: Any) -> float:
    """A finite float, so that 1 and 1.0 are the same; whole ones that no float is stay whole."""
    if isinstance(value, bool | str) or not isfinite(value):
        raise ValueError(f"expected a finite number, got {value!r}")
    return value if isinstance(value, int) and int(float(value)) != value else float(value)


def optional_number(value: Any) -> float | None:
    """A float, or None for no limit, which an infinity means too."""
    return None if value is None or value in (inf, -inf) else number(value)


def flag(value: Any) -> bool:
    """True or False; 0 and 1 are taken too."""
    if value not in (0, 1):
        raise ValueError(f"expected true or false, got {value!r}")
    return bool(value)


def text(value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise TypeError(f"expected a text, got {value!r}")
    return value


def dtype(value: Any) -> str:
    """The name of a dtype that tensors can have."""
    if value not in DTYPES:
        raise ValueError(f"expected one of {', '.join(DTYPES)}, got {value!r}")
    return str(value)


def integers(value: Any) -> list[int]:
    """A list of whole numbers of any length; a single one counts as a list of one."""
    return [integer(n) for n in value] if isinstance(value, list | tuple) else [integer(value)]


def from_front(axis: int, rank: int) -> int:
    """A negative axis as the one that it is."""
    return axis + rank if -rank <= axis < 0 else axis


def from_back(axis: int, rank: int) -> int:
    """The axis counted from the last one, which is -1."""
    return axis - rank if 0 <= axis < rank else axis


def axis_set(axes: list[int], rank: int) -> list[int]:
    """Axes in order, each once; none for all of them."""
    found = sorted({from_front(axis, rank) for axis in axes})
    return [] if found == list(range(rank)) else found


def check_steps(numbers: Sequence[int]) -> None:
    """Raise ValueError for a stride, dilation or margin that is larger than any may be."""
    if max(numbers, default=0) > MOST_STEP:
        raise ValueError(f"expected numbers of at most {MOST_STEP}, got {max(numbers)}")


def extents(count: int) -> Callable[[Any], list[int]]:
    """`count` positive whole numbers, one per spatial axis; a single one stands for all."""

    def canonical(value: Any) -> list[int]:
        listed = integers(value)
        listed = listed * count if len(listed) == 1 else listed
        if len(listed) != count or min(listed) < 1:
            raise ValueError(f"expected {count} positive numbers, got {value!r}")
        check_steps(listed)
        return listed

    return canonical


def margins(count: int) -> Callable[[Any], list[int]]:
    """The padding of `count` spatial axes: all begins, then all ends.

    Of an image [top, left, bottom, right]. A single number stands for all; `count` numbers are
    begins and ends at once.
    """

    def canonical(value: Any) -> list[int]:
        listed = integers(value)
        if len(listed) in (1, count):
            listed = (listed * count if len(listed) == 1 else listed) * 2
        if len(listed) != 2 * count or min(listed) < 0:
            raise ValueError(f"expected {2 * count} numbers, none negative, got {value!r}")
        check_steps(listed)
        return listed

    return canonical
