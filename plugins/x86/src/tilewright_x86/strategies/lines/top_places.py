"""Places of the largest or smallest elements of a line, by a sorted list of the best so far.

Most elements of a long line come behind the last of the list: a vector of them is compared with it
at once. One that does not is inserted by vectors, which shift what comes behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, prod

import numpy as np

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.expressions.affine import Affine, Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.dtype import DATA_TYPES, is_float
from tilewright_tensor.expressions.expr import (
    Const,
    IndexValue,
    Load,
    Value,
    cast,
    logical_not,
    logical_or,
    lt,
    maximum,
    ne,
    select,
)
from tilewright_tensor.expressions.lookup import lookup
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Guard,
    Loop,
    LoopProgram,
    Statement,
    Store,
    block,
)
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.strategies.scheduled_implementation import logical_layouts
from tilewright_x86.strategies.tiles.places import unravelled
from tilewright_x86.strategies.tiles.vector_blocks import lanes

_MOST = 4096
"""Entries of a list, which then stays in the first-level cache."""


class TopPlaces:
    """`top_places` without an epilogue; there are no knobs."""

    name = "top_places.x86"

    def __init__(self, operators: Operators) -> None:
        self.operators = operators

    def applies(self, task: Task) -> bool:
        """Numbers of any kind, of which a list is short enough."""
        return task.workload.attributes["count"] <= _MOST and not task.workload.epilogue

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """One."""
        return [Knobs(self.name).alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """The only config."""
        return ConfigEntity(self.name)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Logical."""
        return logical_layouts(task, len(task.workload.inputs[0].shape))

    def lower(self, task: Task, config: ConfigEntity) -> LoopProgram:
        """Lines in parallel, each with a list of its own."""
        (spec,), attributes = task.workload.inputs, task.workload.attributes
        output = self.operators.output(task.workload)
        axis, largest = attributes["axis"] % len(spec.shape), attributes["largest"]
        line, around = Var("line"), (*spec.shape[:axis], *spec.shape[axis + 1 :])
        others = unravelled(index(line), around, {line: (0, prod(around) - 1)})
        data = Buffer("data", spec.shape, spec.dtype)
        result = Buffer("top_places", output.shape, output.dtype)

        def indices(place: Affine) -> tuple[Affine, ...]:
            return (*others[:axis], place, *others[axis:])

        def element(place: Affine) -> Value:
            one = cast(Load(data, indices(place)), dtype)
            return select(ne(one, one), inf if largest else -inf, one) if is_float(dtype) else one

        dtype = DATA_TYPES[spec.dtype].accumulator if is_float(spec.dtype) else spec.dtype
        best = _Best(spec.shape[axis], output.shape[axis], dtype, lanes(task), largest=largest)
        body = best.found(element)
        number = Var("number")
        to = indices(index(number))
        stored = Store(result, to, cast(best.place(index(number)), output.dtype))
        body = best.kept(block([body, Loop(number, best.count, "vectorized", stored)]))
        lines = Loop(line, prod(around), "parallel", body)
        return LoopProgram(f"top_places_{task.workload.key}", (data,), (result,), lines)


@dataclass(frozen=True, slots=True)
class _Best:
    """The best elements of a line of `extent`, best first: their values and places.

    Entry 0 comes before every element, so that what is inserted shifts nothing into the first one.
    Free entries have the place `extent`. Elements arrive in the order of their places: of equal
    ones the first stays in front.
    """

    extent: int
    count: int
    dtype: str
    lanes: int
    largest: bool

    @property
    def _entries(self) -> int:
        """Those behind the first: whole vectors."""
        return -(-self.count // self.lanes) * self.lanes

    @property
    def _values(self) -> Buffer:
        return Buffer("values", (self._entries + 1,), self.dtype, "local")

    @property
    def _places(self) -> Buffer:
        return Buffer("places", (self._entries + 1,), "int32", "local")

    def place(self, number: Affine) -> Load:
        """The place of an element of the list."""
        return Load(self._places, (number + 1,))

    def kept(self, statement: Statement) -> Statement:
        """The statement with the list around it."""
        return Allocate(self._values, Allocate(self._places, statement))

    def found(self, element: Callable[[Affine], Value]) -> Statement:
        """Fills the list with the best elements of a line."""
        entry, number = Var("entry"), Var("vector")
        parts: list[Statement] = [
            Store(self._values, (Affine(),), Const(self._most(), self.dtype)),
            Store(self._places, (Affine(),), Const(-1, "int32")),
        ]
        for buffer, value in ((self._values, 0), (self._places, self.extent)):
            free = Store(buffer, (entry + 1,), Const(value, buffer.dtype))
            parts.append(Loop(entry, self._entries, "vectorized", free))
        vectors, rest = divmod(self.extent, self.lanes)
        if vectors:
            one = self._vector(element, index(number) * self.lanes)
            parts.append(Loop(number, vectors, "serial", one))
        if rest:
            parts.append(self._each(element, Affine((), self.extent - rest), rest))
        return block(parts)

    def _most(self) -> float | int:
        """What no element comes before."""
        if is_float(self.dtype):
            return inf if self.largest else -inf
        limits = np.iinfo(self.dtype)
        return int(limits.max if self.largest else limits.min)

    def _before(self, value: Value, entry: Affine) -> Value:
        """Whether a value that arrives comes before an entry."""
        held = Load(self._values, (entry,))
        better = lt(held, value) if self.largest else lt(value, held)
        return logical_or(better, logical_not(self._taken(entry)))

    def _taken(self, entry: Affine) -> Value:
        return lt(Load(self._places, (entry,)), Const(self.extent, "int32"))

    def _vector(self, element: Callable[[Affine], Value], begin: Affine) -> Statement:
        """Nothing, unless an element of the vector comes before the last of the list."""
        lane = Var("lane")
        hits = Buffer("hits", (self.lanes,), "float32", "register")
        hit = Buffer("hit", (1,), "float32", "register")
        here, only = (index(lane),), (Affine(),)
        before = self._before(element(begin + lane), self._last)
        found = Store(hits, here, select(before, 1.0, 0.0))
        folded = Store(hit, only, maximum(Load(hit, only), Load(hits, here)))
        parts: list[Statement] = [
            Loop(lane, self.lanes, "vectorized", found),
            Store(hit, only, Const(0.0)),
            Loop(lane, self.lanes, "unrolled", folded),
            _if(lt(0.0, Load(hit, only)), self._each(element, begin, self.lanes)),
        ]
        return Allocate(hits, Allocate(hit, block(parts)))

    @property
    def _last(self) -> Affine:
        return Affine((), self.count)

    def _each(self, element: Callable[[Affine], Value], begin: Affine, count: int) -> Statement:
        """Inserts elements from a place on, those that come before the last of the list."""
        number, own = Var("number"), Buffer("own", (1,), self.dtype, "local")
        arriving, place = Load(own, (Affine(),)), begin + number
        known = Store(own, arriving.indices, element(place))
        inserted = _if(self._before(arriving, self._last), self._inserted(arriving, place))
        return Allocate(own, Loop(number, count, "serial", block([known, inserted])))

    def _inserted(self, value: Value, place: Affine) -> Statement:
        """Each entry stays, becomes the one in front of it, or what arrives; from the back on.

        Vectors of free entries stay as they are, and so do those in front of what arrives.
        """
        vector, lane = Var("entries"), Var("lane")
        first = (self._entries - self.lanes + 1) - index(vector) * self.lanes
        entry = first + lane
        shifted, taken = self._before(value, entry - 1), self._before(value, entry)
        news, olds = [], []
        for kept, own in ((self._values, value), (self._places, cast(IndexValue(place), "int32"))):
            new = Buffer(f"new_{kept.name}", (self.lanes,), kept.dtype, "register")
            at = (index(lane),)
            stays = select(taken, own, Load(kept, (entry,)))
            news.append((new, Store(new, at, select(shifted, Load(kept, (entry - 1,)), stays))))
            olds.append(Store(kept, (entry,), Load(new, at)))
        stores = [*(store for _, store in news), *olds]
        body = block([Loop(lane, self.lanes, "vectorized", one) for one in stores])
        for new, _ in news:
            body = Allocate(new, body)
        front, back = first - 1, first + (self.lanes - 1)
        changed = _if(self._taken(front), _if(self._before(value, back), body))
        return Loop(vector, self._entries // self.lanes, "serial", changed)


def _if(condition: Value, statement: Statement) -> Statement:
    """The statement where a value that is found in memory is true."""
    return Guard(((-lookup(cast(condition, "int64"), 2), 0),), statement)


make = TopPlaces
