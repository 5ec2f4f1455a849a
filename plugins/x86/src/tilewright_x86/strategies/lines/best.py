"""The best elements of a line so far: what a list and a pool of them have in common.

Most elements of a long line come behind the last of the best: a vector of them is compared with it
at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from tilewright_tensor.expressions.affine import Affine, Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.dtype import is_float
from tilewright_tensor.expressions.expr import (
    Const,
    Load,
    Value,
    cast,
    logical_not,
    logical_or,
    lt,
    maximum,
    select,
)
from tilewright_tensor.expressions.lookup import lookup
from tilewright_tensor.ir.loop_ir import Allocate, Guard, Loop, Statement, Store, block

Elements = Callable[[Affine], Value]
ONLY = (Affine(),)


@dataclass(frozen=True, slots=True)
class Best(ABC):
    """The best `count` elements of a line of `extent`: their values and places.

    Free entries have the place `extent`. Elements arrive in the order of their places: of equal
    ones the first comes first.
    """

    extent: int
    count: int
    dtype: str
    lanes: int
    largest: bool

    @abstractmethod
    def place(self, number: Affine) -> Load:
        """The place of one of the best, in their order."""

    @abstractmethod
    def within(self, statements: Sequence[Statement]) -> Statement:
        """The statements with the memory of the best around them."""

    @abstractmethod
    def found(self, element: Elements) -> Statement:
        """Finds the best elements of a line."""

    @property
    @abstractmethod
    def entries(self) -> int:
        """Of values and places."""

    @property
    @abstractmethod
    def last(self) -> Affine:
        """The entry of the last of the best."""

    @abstractmethod
    def taken_in(self, value: Value, place: Affine) -> Statement:
        """An element that comes before the last is among the best, or may be."""

    @property
    def values(self) -> Buffer:
        """Of the entries."""
        return Buffer("values", (self.entries,), self.dtype, "local")

    @property
    def places(self) -> Buffer:
        """Of the entries."""
        return Buffer("places", (self.entries,), "int32", "local")

    def limit(self, *, best: bool) -> float | int:
        """What no element comes before, or behind."""
        if is_float(self.dtype):
            return inf if best == self.largest else -inf
        limits = np.iinfo(self.dtype)
        return int(limits.max if best == self.largest else limits.min)

    def better(self, value: Value, other: Value) -> Value:
        """Whether a value comes before another, of places in any order."""
        return lt(other, value) if self.largest else lt(value, other)

    def before(self, value: Value, entry: Affine) -> Value:
        """Whether a value that arrives comes before an entry."""
        held = Load(self.values, (entry,))
        return logical_or(self.better(value, held), logical_not(self.taken(entry)))

    def taken(self, entry: Affine) -> Value:
        """Whether an entry is not free."""
        return lt(Load(self.places, (entry,)), Const(self.extent, "int32"))

    def vector(self, element: Elements, begin: Affine) -> Statement:
        """Nothing, unless an element of the vector comes before the last of the best."""
        lane = Var("lane")
        hits = Buffer("hits", (self.lanes,), "float32", "register")
        hit = Buffer("hit", (1,), "float32", "register")
        here = (index(lane),)
        before = self.before(element(begin + lane), self.last)
        found = Store(hits, here, select(before, 1.0, 0.0))
        folded = Store(hit, ONLY, maximum(Load(hit, ONLY), Load(hits, here)))
        return allocated(
            [hits, hit],
            Loop(lane, self.lanes, "vectorized", found),
            Store(hit, ONLY, Const(0.0)),
            Loop(lane, self.lanes, "unrolled", folded),
            only_if(lt(0.0, Load(hit, ONLY)), self.each(element, begin, self.lanes)),
        )

    def each(self, element: Elements, begin: Affine, count: int) -> Statement:
        """Takes in elements from a place on, those that come before the last of the best."""
        number, own = Var("number"), Buffer("own", (1,), self.dtype, "local")
        arriving, place = Load(own, ONLY), begin + number
        known = Store(own, ONLY, element(place))
        taken = only_if(self.before(arriving, self.last), self.taken_in(arriving, place))
        return allocated([own], Loop(number, count, "serial", block([known, taken])))


def allocated(scratch: Sequence[Buffer], *body: Statement) -> Statement:
    """The body with buffers around it."""
    statement = block(body)
    for buffer in reversed(scratch):
        statement = Allocate(buffer, statement)
    return statement


def only_if(condition: Value, statement: Statement) -> Statement:
    """The statement where a value that is found in memory is true."""
    return Guard(((-lookup(cast(condition, "int64"), 2), 0),), statement)
