"""Buffers: the memory that loop programs read and write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from tilewright_tensor.expressions.affine import Affine, Atom
from tilewright_tensor.expressions.dtype import ITEM_BYTES
from tilewright_tensor.expressions.simplify_div_mod import simplify_div_mod

Scope = Literal["global", "shared", "local", "register", "fragment"]
"""Who sees a buffer.

global     operands and workspace: all threads
shared     the threads of one block (GPU)
local      one thread; addressable
register   one thread; every index is constant once unrolled and vectorised loops are expanded
fragment   the same, of registers that only tensor instructions read and write
"""

IN_REGISTERS: tuple[Scope, ...] = ("register", "fragment")


@dataclass(frozen=True, slots=True)
class Buffer:
    """Row-major, contiguous memory of a dtype.

    Equal by value, so names are unique within a program.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    scope: Scope = "global"

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def item_bytes(self) -> int:
        """Bytes of an element."""
        return ITEM_BYTES[self.dtype]

    def flat(self, indices: Sequence[Affine]) -> Affine:
        """The element at the indices as one index into the memory."""
        steps, step = [], 1
        for extent in reversed(self.shape):
            steps.append(step)
            step *= extent
        return simplify_div_mod(_weighted_sum(zip(indices, reversed(steps), strict=True)))


def _weighted_sum(parts: Iterable[tuple[Affine, int]]) -> Affine:
    """Indexes times their factors, added up."""
    merged: dict[Atom, int] = {}
    constant = 0
    for value, factor in parts:
        constant += value.constant * factor
        for atom, coefficient in value.terms:
            merged[atom] = merged.get(atom, 0) + coefficient * factor
    return Affine(tuple([term for term in merged.items() if term[1]]), constant)
