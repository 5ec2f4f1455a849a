"""Indexes found in memory: `data[i, lookup(indices[j], extent)]`.

A lookup is an index like any other: it may be added to, multiplied, divided. It is in bounds by
construction: what is found is clamped to `0 .. extent - 1`, on every target, so that no content of
a tensor makes a program read outside of another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright_tensor.expressions.affine import Affine, Bounds, Element, Var
from tilewright_tensor.expressions.comparisons import comparing_objects
from tilewright_tensor.expressions.dtype import is_whole
from tilewright_tensor.expressions.expr import (
    Value,
    ValueLike,
    as_value,
    cast,
    dtype_of,
    indexes_in,
    maximum,
    minimum,
    substituted,
)


@dataclass(frozen=True, slots=True, eq=False)
class Lookup(Element):
    """A value of dtype int64 that is in `0 .. extent - 1` whatever memory holds, as an index."""

    value: Value
    extent: int

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Lookup):
            return NotImplemented
        with comparing_objects():
            return (self.value, self.extent) == (other.value, other.extent)

    def __hash__(self) -> int:
        with comparing_objects():
            return hash((self.value, self.extent))

    def with_value(self, value: Value) -> Affine:
        """The index of the same range that another value stands for."""
        return Affine(((Lookup(value, self.extent), 1),))

    def variables(self) -> frozenset[Var]:
        """Every variable that it is found by."""
        return frozenset[Var]().union(*(one.variables() for one in indexes_in(self.value)))

    def substitute(self, values: Mapping[Var, Affine], bounds: Bounds) -> Affine | None:
        """Itself with variables replaced; None where none of them occurs."""
        if self.variables().isdisjoint(values):
            return None
        return self.with_value(substituted(self.value, values, bounds))

    def __str__(self) -> str:
        from tilewright_tensor.expressions.value_text import value_text

        return f"[{value_text(self.value)}]"


def lookup(value: ValueLike, extent: int) -> Affine:
    """The value as an index of an axis of `extent`: clamped to it. Values are whole numbers.

    Raises ValueError for a float, which has to be cast.
    """
    found = as_value(value)
    if not is_whole(dtype_of(found)):
        raise ValueError(f"an index is no {dtype_of(found)}: cast it, e.g. cast(x, 'int64')")
    if dtype_of(found) == "uint64":  # half of them are no int64: clamped before they are cast
        found = minimum(found, extent - 1)
    clamped = minimum(maximum(cast(found, "int64"), 0), extent - 1)
    return Affine(((Lookup(clamped, extent), 1),))
