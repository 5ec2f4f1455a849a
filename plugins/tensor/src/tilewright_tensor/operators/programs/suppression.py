"""Suppression of overlapping boxes: the best of each class stays, what overlaps it goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from typing import Any

from tilewright_tensor.expressions.affine import Index, Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import (
    Load,
    Value,
    ValueLike,
    as_value,
    cast,
    eq,
    ge,
    gt,
    logical_and,
    logical_not,
    lt,
    maximum,
    minimum,
    select,
)
from tilewright_tensor.expressions.lookup import lookup
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Guard,
    Loop,
    LoopKind,
    LoopProgram,
    Statement,
    Store,
    block,
)
from tilewright_tensor.operators.definition.attribute import (
    Attribute,
    Attributes,
    flag,
    integer,
    number,
    optional_number,
)
from tilewright_tensor.operators.definition.operator_def import (
    Inputs,
    Operand,
    OperatorDef,
    by_program,
    expect,
    numpy_reference,
)

_LANES = 16
"""Candidates that are looked at at once: a vector of AVX-512."""
_GROUP, _BESIDE = 16, 4
"""Vectors of candidates in a group; of boxes kept that are looked at where one of them is."""


def _infer(inputs: Inputs, attributes: Attributes) -> tuple[tuple[int, ...], str]:
    boxes, scores = inputs
    are_boxes = len(boxes.shape) == 3 and boxes.shape[2] == 4
    expect(are_boxes, f"expected boxes [batch, boxes, 4], got {list(boxes.shape)}")
    wanted = (boxes.shape[0], boxes.shape[1])
    fit = len(scores.shape) == 3 and (scores.shape[0], scores.shape[2]) == wanted
    expect(fit, f"expected scores [{wanted[0]}, classes, {wanted[1]}], got {list(scores.shape)}")
    dtypes = boxes.dtype, scores.dtype
    expect(dtypes == ("float32", "float32"), f"expected float32, got {' and '.join(dtypes)}")
    most, overlap = attributes["max_boxes"], attributes["iou_threshold"]
    expect(most >= 0, f"max_boxes is {most}, expected 0 or more")
    expect(0 <= overlap <= 1, f"iou_threshold is {overlap}, expected 0 to 1")
    return (prod(scores.shape[:2]) * min(most, boxes.shape[1]), 3), "int64"


class _Suppression:
    """The loops, a line of them for each class of each image.

    A line takes its candidates, the scores above the threshold, one by one, the best first. One
    that overlaps a box kept before is passed over. So that the best is found without looking at
    all, the largest of each group is known. Once no candidate is left, or as many boxes as wanted
    are kept, the visits to come do nothing.
    """

    def __init__(self, inputs: Inputs, attributes: Attributes) -> None:
        self.attributes = attributes
        (batch, self.count, _), self.classes = inputs[0].shape, inputs[1].shape[1]
        self.steps = min(attributes["max_boxes"], self.count)
        self.lines = batch * self.classes
        self.vectors = min(_GROUP, _vectors(self.count))
        self.inside = self.vectors * _LANES
        self.groups = -(-self.count // self.inside)
        self.beside = min(_BESIDE, _vectors(self.steps))
        self.boxes = Buffer("boxes", inputs[0].shape)
        self.scores = Buffer("scores", inputs[1].shape)
        self.rows = Buffer("non_max_suppression", (self.lines * self.steps, 3), "int64")
        self.left = Buffer("left", (self.lines, self.groups * self.inside))
        """The scores of candidates; -infinity where there is none, or none any more."""
        self.peaks = Buffer("peaks", (self.lines, _vectors(self.groups) * _LANES))
        """The largest of each group of them."""
        slots = -(-self.steps // (self.beside * _LANES)) * self.beside * _LANES
        self.kept = Buffer("kept", (self.lines, 5, slots))
        """Of boxes kept: low and high along one axis and the other, and the area; else zeros."""
        self.picked = Buffer("picked", (self.lines, self.steps), "int64")
        self.number = _whole("number")
        self.open = _whole("open")
        self.line = Var("line")

    def program(self) -> LoopProgram:
        """Lines in parallel, then the rows."""
        body = _within((self.number, self.open), *self._begun(), self._visits())
        return LoopProgram(
            "non_max_suppression",
            (self.boxes, self.scores),
            (self.rows,),
            block([_loop(self.line, self.lines, body, kind="parallel"), self._in_rows()]),
            (self.left, self.peaks, self.kept, self.picked),
        )

    def _begun(self) -> list[Statement]:
        """All candidates are left, and none is kept."""
        v, w, k, t, g = Var("v"), Var("w"), Var("k"), Var("t"), Var("g")
        threshold = self.attributes["score_threshold"]
        place, whole = v * _LANES + w, self.count // _LANES
        row = self.line // self.classes, self.line % self.classes

        def taken(n: Index) -> Store:
            score = _at(self.scores, *row, n)
            is_one = gt(score, -inf if threshold is None else threshold)
            return _store(self.left, [self.line, n], select(is_one, score, -inf))

        def filled(buffer: Buffer, value: float, *axes: Index) -> Loop:
            lanes = _lanes(w, _store(buffer, [self.line, *axes, place], value))
            return _loop(v, buffer.shape[-1] // _LANES, lanes)

        parts: list[Statement] = [filled(self.left, -inf), filled(self.peaks, -inf)]
        parts += [_loop(v, whole, _lanes(w, taken(place)))] if whole else []
        rest = self.count - whole * _LANES
        parts += [_loop(w, rest, taken(whole * _LANES + w))] if rest else []
        largest = Buffer("largest", (1,), scope="register")
        peak = _store(self.peaks, [self.line, g], _at(largest, 0))
        parts += [
            _loop(g, self.groups, _within((largest,), self._largest(g, largest), peak)),
            _loop(k, 5, filled(self.kept, 0.0, k)),
            _loop(t, self.steps, _store(self.picked, [self.line, t], -1)),
            _store(self.number, [0], 0),
            _store(self.open, [0], 1),
        ]
        return parts

    def _visits(self) -> Statement:
        outer, inner = Var("outer"), Var("inner")
        visits = _loop(inner, self.inside, _if(self.open, self._visit()))
        return _loop(outer, self.groups, _if(self.open, visits))

    def _visit(self) -> Statement:
        """Takes the best candidate that is left, and keeps it where it overlaps none kept."""
        k = Var("k")
        best, peak, most, group, place = (
            Buffer(name, (1,), scope="register")
            for name in ("best", "peak", "most", "group", "place")
        )
        edges = Buffer("edges", (5,), scope="register")
        at, is_kept = _whole("at"), _whole("is_kept")
        found = lookup(cast(_at(group, 0), "int64"), self.groups)
        slot, step = (lookup(_at(self.number, 0), n) for n in (self.kept.shape[-1], self.steps))
        is_one = gt(_at(best, 0), -inf)
        stays = logical_not(gt(_at(most, 0), self.attributes["iou_threshold"]))
        keep: list[Statement] = [
            _loop(k, 5, _store(self.kept, [self.line, k, slot], _at(edges, k)), kind="unrolled"),
            _store(self.picked, [self.line, step], _at(at, 0)),
            _store(self.number, [0], _at(self.number, 0) + 1),
        ]
        is_room = lt(_at(self.number, 0), self.steps)
        return _within(
            (best, peak, most, group, place, edges, at, is_kept),
            _largest(self._peak, _vectors(self.groups), best),
            _first(self._peak, _vectors(self.groups), best, group),
            _first(lambda i: self._inside(found, i), self.vectors, best, place),
            _store(at, [0], as_value(found * self.inside) + cast(_at(place, 0), "int64")),
            _store(self.left, [self.line, lookup(_at(at, 0), self.left.shape[-1])], -inf),
            self._largest(found, peak),
            _store(self.peaks, [self.line, found], _at(peak, 0)),
            self._edged(lookup(_at(at, 0), self.count), edges),
            self._most_overlap(edges, most),
            _store(is_kept, [0], cast(logical_and(is_one, stays), "int64")),
            _if(is_kept, *keep),
            _store(self.open, [0], cast(logical_and(is_one, is_room), "int64")),
        )

    def _peak(self, group: Index) -> Load:
        return _at(self.peaks, self.line, group)

    def _inside(self, group: Index, place: Index) -> Load:
        return _at(self.left, self.line, group * self.inside + place)

    def _largest(self, group: Index, into: Buffer) -> Statement:
        return _largest(lambda place: self._inside(group, place), self.vectors, into)

    def _edged(self, box: Index, edges: Buffer) -> Statement:
        """The edges of a box, low before high whatever the order of its corners, and its area."""
        a, b, c, d = (_at(self.boxes, self.line // self.classes, box, k) for k in range(4))
        if self.attributes["centered"]:
            half_x, half_y = c * 0.5, d * 0.5
            values: list[Any] = [a - half_x, a + half_x, b - half_y, b + half_y]
        else:
            values = [_low(a, c), _high(a, c), _low(b, d), _high(b, d)]
        first, last, top, bottom = (_at(edges, k) for k in range(4))
        values.append(_high((last - first) * (bottom - top), 0.0))
        return block([_store(edges, [k], value) for k, value in enumerate(values)])

    def _most_overlap(self, edges: Buffer, into: Buffer) -> Statement:
        """The largest share of what two boxes cover that both do; -1 where none is kept."""
        g, v, w, lane = Var("g"), Var("v"), Var("w"), Var("lane")
        place = (g * self.beside + v) * _LANES + w
        low_x, high_x, low_y, high_y, area = (_at(edges, k) for k in range(5))
        other = [_at(self.kept, self.line, k, place) for k in range(5)]
        overlaps, width, shared = _vector("overlaps"), _vector("width"), _vector("shared")
        height = _low(other[3], high_y) - _high(other[2], low_y)
        both = _at(shared, w)
        lanes = _lanes(
            w,
            _store(width, [w], _low(other[1], high_x) - _high(other[0], low_x)),
            # this product and that of `_edged` are at least 0 by a comparison: so no compiler
            # takes one with the sum behind it, without rounding between them
            _store(shared, [w], _high(_high(_at(width, w), 0.0) * height, 0.0)),
            _store(overlaps, [w], _high(both / (other[4] + area - both), _at(overlaps, w))),
        )
        first = g * (self.beside * _LANES)
        is_any = ((first - lookup(_at(self.number, 0), self.steps + 1), 0),)
        groups = self.kept.shape[-1] // (self.beside * _LANES)
        part = Guard(is_any, _within((width, shared), _loop(v, self.beside, lanes)))
        return _within(
            (overlaps,),
            _lanes(w, _store(overlaps, [w], -1.0)),
            _loop(g, groups, part),
            _store(into, [0], -1.0),
            _folded(maximum, lane, overlaps, into),
        )

    def _in_rows(self) -> Statement:
        """(image, class, box) of what was kept, line after line, and rows of -1 behind them."""
        r, k, image, kind, t = (Var(name) for name in ("r", "k", "image", "kind", "t"))
        total = _whole("total")
        count = self.lines * self.steps
        row = lookup(_at(total, 0), count)
        box = _at(self.picked, image * self.classes + kind, t)
        is_one = ge(box, 0)
        one = [select(is_one, image, -1), select(is_one, kind, -1), box]
        stores = [_store(self.rows, [row, k], value) for k, value in enumerate(one)]
        counted = _store(total, [0], _at(total, 0) + cast(is_one, "int64"))
        lines = _loop(kind, self.classes, _loop(t, self.steps, *stores, counted))
        return _within(
            (total,),
            _loop(r, count, _loop(k, 3, _store(self.rows, [r, k], -1))),
            _store(total, [0], 0),
            _loop(image, self.lines // self.classes, lines),
        )


def _largest(values: Callable[[Index], Load], vectors: int, into: Buffer) -> Statement:
    """The largest of so many vectors of values, none of them NaN."""
    v, w, lane = Var("v"), Var("w"), Var("lane")
    tops = _vector(f"{into.name}_lanes")
    top = _store(tops, [w], _high(values(v * _LANES + w), _at(tops, w)))
    return _within(
        (tops,),
        _lanes(w, _store(tops, [w], -inf)),
        _loop(v, vectors, _lanes(w, top)),
        _store(into, [0], -inf),
        _folded(maximum, lane, tops, into),
    )


def _first(
    values: Callable[[Index], Load], vectors: int, wanted: Buffer, into: Buffer
) -> Statement:
    """The first place of a value among so many vectors, as a float, which folds at once."""
    v, w, lane = Var("v"), Var("w"), Var("lane")
    firsts = _vector(f"{into.name}_lanes")
    number = select(eq(values(v * _LANES + w), _at(wanted, 0)), cast(as_value(v), "float32"), inf)
    place = _at(firsts, w) * float(_LANES) + cast(as_value(w), "float32")
    return _within(
        (firsts,),
        _lanes(w, _store(firsts, [w], inf)),
        _loop(v, vectors, _lanes(w, _store(firsts, [w], _low(number, _at(firsts, w))))),
        _lanes(w, _store(firsts, [w], place)),
        _store(into, [0], inf),
        _folded(minimum, lane, firsts, into),
    )


def _folded(
    operation: Callable[[ValueLike, ValueLike], Value], lane: Var, lanes: Buffer, into: Buffer
) -> Loop:
    """Lanes combined in one element."""
    value = operation(_at(into, 0), _at(lanes, lane))
    return _loop(lane, _LANES, _store(into, [0], value), kind="unrolled")


def _if(condition: Buffer, *body: Statement) -> Guard:
    """The body where a whole number is not 0."""
    return Guard(((-lookup(_at(condition, 0), 2), 0),), block(body))


def _vectors(count: int) -> int:
    return -(-count // _LANES)


def _vector(name: str) -> Buffer:
    return Buffer(name, (_LANES,), scope="register")


def _whole(name: str) -> Buffer:
    return Buffer(name, (1,), "int64", "register")


def _within(scratch: Sequence[Buffer], *body: Statement) -> Statement:
    statement = block(body)
    for buffer in reversed(scratch):
        statement = Allocate(buffer, statement)
    return statement


def _lanes(variable: Var, *body: Statement) -> Loop:
    return _loop(variable, _LANES, *body, kind="vectorized")


def _loop(variable: Var, extent: int, *body: Statement, kind: LoopKind = "serial") -> Loop:
    return Loop(variable, extent, kind, block(body))


def _at(buffer: Buffer, *places: Index) -> Load:
    return Load(buffer, tuple(map(index, places)))


def _store(buffer: Buffer, places: list[Any], value: ValueLike) -> Store:
    return Store(buffer, tuple(map(index, places)), as_value(value, buffer.dtype))


def _low(left: ValueLike, right: ValueLike) -> Value:
    return select(lt(left, right), left, right)


def _high(left: ValueLike, right: ValueLike) -> Value:
    return select(gt(left, right), left, right)


OPERATORS = (
    # (image, class, box) of what is kept, by image, class and score; rows of -1 fill it up
    OperatorDef(
        "non_max_suppression",
        (Operand("boxes"), Operand("scores")),
        _infer,
        by_program,
        numpy_reference("non_max_suppression"),
        (
            Attribute("max_boxes", integer),
            Attribute("iou_threshold", number, 0.0),
            Attribute("score_threshold", optional_number, None),
            Attribute("centered", flag, False),
        ),
        values="float",
        program=lambda inputs, attributes: _Suppression(inputs, attributes).program(),
        counted=True,
    ),
)
