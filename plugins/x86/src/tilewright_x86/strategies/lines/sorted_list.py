"""The best elements of a line in a sorted list, for few of them.

An element is inserted by vectors, which shift what comes behind it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright_tensor.expressions.affine import Affine, Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Const, IndexValue, Load, Value, cast, select
from tilewright_tensor.ir.loop_ir import Loop, Statement, Store, block
from tilewright_x86.strategies.lines.best import ONLY, Best, Elements, allocated, only_if


class SortedList(Best):
    """`Best`, best first.

    Entry 0 comes before every element, so that what is inserted shifts nothing into the first one.
    """

    __slots__ = ()

    @property
    def entries(self) -> int:
        """The first, and whole vectors."""
        return self._behind + 1

    @property
    def _behind(self) -> int:
        return -(-self.count // self.lanes) * self.lanes

    @property
    def last(self) -> Affine:
        return Affine((), self.count)

    def place(self, number: Affine) -> Load:
        return Load(self.places, (number + 1,))

    def within(self, statements: Sequence[Statement]) -> Statement:
        return allocated([self.values, self.places], *statements)

    def found(self, element: Elements) -> Statement:
        entry, number = Var("entry"), Var("vector")
        parts: list[Statement] = [
            Store(self.values, ONLY, Const(self.limit(best=True), self.dtype)),
            Store(self.places, ONLY, Const(-1, "int32")),
        ]
        for buffer, value in ((self.values, 0), (self.places, self.extent)):
            free = Store(buffer, (entry + 1,), Const(value, buffer.dtype))
            parts.append(Loop(entry, self._behind, "vectorized", free))
        vectors, rest = divmod(self.extent, self.lanes)
        if vectors:
            one = self.vector(element, index(number) * self.lanes)
            parts.append(Loop(number, vectors, "serial", one))
        if rest:
            parts.append(self.each(element, Affine((), self.extent - rest), rest))
        return block(parts)

    def taken_in(self, value: Value, place: Affine) -> Statement:
        """Each entry stays, becomes the one in front of it, or what arrives; from the back on.

        Vectors of free entries stay as they are, and so do those in front of what arrives.
        """
        vector, lane = Var("entries"), Var("lane")
        first = (self._behind - self.lanes + 1) - index(vector) * self.lanes
        entry = first + lane
        shifted, taken = self.before(value, entry - 1), self.before(value, entry)
        news, olds = [], []
        for kept, own in ((self.values, value), (self.places, cast(IndexValue(place), "int32"))):
            new = Buffer(f"new_{kept.name}", (self.lanes,), kept.dtype, "register")
            at = (index(lane),)
            stays = select(taken, own, Load(kept, (entry,)))
            news.append((new, Store(new, at, select(shifted, Load(kept, (entry - 1,)), stays))))
            olds.append(Store(kept, (entry,), Load(new, at)))
        stores = [*(store for _, store in news), *olds]
        lanes = [Loop(lane, self.lanes, "vectorized", one) for one in stores]
        body = allocated([new for new, _ in reversed(news)], *lanes)
        front, back = first - 1, first + (self.lanes - 1)
        changed = only_if(self.taken(front), only_if(self.before(value, back), body))
        return Loop(vector, self._behind // self.lanes, "serial", changed)
