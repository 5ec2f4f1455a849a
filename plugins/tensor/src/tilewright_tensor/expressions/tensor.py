"""Tensors: operands, and what expressions over others define element by element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from tilewright_tensor.expressions.affine import Affine, Index, IndexArithmetic, Var, index
from tilewright_tensor.expressions.bounds import NOTHING, Size, size_of
from tilewright_tensor.expressions.comparisons import NoValue, comparable
from tilewright_tensor.expressions.expr import Const, Read, Value, leaves
from tilewright_tensor.expressions.noted_reads import noted


@comparable
@dataclass(frozen=True, slots=True)
class Axis(IndexArithmetic):
    """A named range `0 <= var < extent`; usable in index arithmetic."""

    name: str
    extent: int

    @property
    def var(self) -> Var:
        """The variable that runs over it."""
        return Var(self.name)

    def affine(self) -> Affine:
        return self.var.affine()


@dataclass(frozen=True, slots=True)
class Combiner:
    """An associative and commutative operation with its identity, by dtype."""

    name: str
    operation: Callable[[Value, Value], Value]
    identity: Callable[[str], Const]


@dataclass(frozen=True, eq=False)
class Tensor(NoValue):
    """A placeholder (no body) or the result of a compute; equal only to itself.

    axes     one a dimension, named as in the compute's lambda
    body     the element at the axes, or what is combined over `reduce_axes`
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    axes: tuple[Axis, ...] = ()
    body: Value | None = None
    combiner: Combiner | None = None
    reduce_axes: tuple[Axis, ...] = ()

    def __getitem__(self, indices: Index | tuple[Index, ...]) -> Read:
        given = indices if isinstance(indices, tuple) else (indices,)
        if len(given) != len(self.shape):
            raise ValueError(
                f"{self.name} has {counted(len(self.shape), 'dimension', 'dimensions')}, "
                f"got {counted(len(given), 'index', 'indexes')}"
            )
        if any(isinstance(one, bool) for one in given):
            raise TypeError(f"an index of {self.name} is true or false, expected a place")
        return noted(Read(self, tuple(index(one) for one in given)))

    def instead(self) -> str:
        places = ", ".join("ijklmnop"[: len(self.shape)])
        return f"{self.name} is a tensor: read an element of it, as {self.name}[{places}]"

    def __repr__(self) -> str:
        return f"Tensor({self.name}, {self.shape}, {self.dtype})"

    @cached_property
    def reads(self) -> tuple[Read, ...]:
        """Reads in the body, left to right, repeats kept."""
        return (
            tuple(x for x in leaves(self.body) if isinstance(x, Read))
            if self.body is not None
            else ()
        )

    @cached_property
    def size(self) -> Size:
        """Of an element's expression, with those that it reads in place; sums are in memory."""
        if self.body is None or self.combiner is not None:
            return NOTHING
        return size_of(self.body, lambda read: read.tensor.size)


def counted(number: int, one: str, many: str) -> str:
    """`1 axis`, `2 axes`."""
    return f"{number} {one if number == 1 else many}"
