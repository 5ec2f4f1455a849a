"""Names of axes, and numpy's broadcasting rule for shapes and for places."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from tilewright_tensor.layouts.layout import Layout

if TYPE_CHECKING:
    from tilewright_tensor.expressions.tensor import Axis


def axis_names(rank: int) -> list[str]:
    """Names of a stage's axes: n, c, h, w for rank 4."""
    return list(Layout.logical(rank).letters.lower())


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all broadcast to, right-aligned. Raises ValueError where they do not."""
    found = []
    for extents in zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        wide = set(extents) - {1}
        if len(wide) > 1:
            raise ValueError(f"shapes {', '.join(str(list(s)) for s in shapes)} do not broadcast")
        found.append(wide.pop() if wide else 1)
    return tuple(reversed(found))


def broadcast_place(place: Sequence[Axis], shape: Sequence[int]) -> tuple[Axis | int, ...]:
    """Where a tensor is read for a place of a larger one: 0 where it is broadcast."""
    aligned = place[len(place) - len(shape) :]
    return tuple(axis if axis.extent == n else 0 for axis, n in zip(aligned, shape, strict=True))
