"""Finds reads of a definition that leave their tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from tilewright_tensor.expressions.affine import Affine, Var
from tilewright_tensor.expressions.dtype import numpy_type
from tilewright_tensor.expressions.elements import elements
from tilewright_tensor.expressions.expr import IndexValue, Op, Read, Value, leaves, values_inside
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.facts import Condition, Facts, condition_of

_MOST_POINTS = 1 << 18
Path = tuple[tuple[Value, bool], ...]
"""Conditions of the selects around a place in an expression, and what they are there."""


def read_outside(tensor: Tensor) -> tuple[Read, str] | None:
    """The first read outside its tensor and what it does, as a sentence; None where none is.

    Under a `select`, places count at which its condition may hold: comparisons of indexes decide,
    values in memory do not. What cannot be decided by rules is tried at every place, up to a
    quarter of a million; beyond, the condition is trusted.
    """
    if tensor.body is None:
        return None
    bounds = {a.var: (0, a.extent - 1) for a in (*tensor.axes, *tensor.reduce_axes)}
    for read, path in _reads(tensor.body, ()):
        known = [one for value, truth in path for one in _implied(value, truth=truth)]
        facts = Facts(bounds, tuple(known))
        for dimension, (index, extent) in enumerate(
            zip(read.indices, read.tensor.shape, strict=True)
        ):
            if facts.holds((-index, 1)) and facts.holds((index, extent)):
                continue
            low, high = index.range(bounds)
            somewhere = low < extent and high >= 0
            if path and _inside(index, extent, path, facts, trusted=somewhere):
                continue
            guard = "; its condition does not keep it inside" if path else ""
            return read, (
                f"{read.tensor.name}[{', '.join(map(str, read.indices))}] reads from {low} "
                f"to {high} of dimension {dimension}, which has extent {extent}{guard}"
            )
    return None


def _reads(value: Value, path: Path) -> Iterator[tuple[Read, Path]]:
    """Every read, those that indexes are looked up by included, with the conditions around it."""
    if isinstance(value, Op):
        for place, arg in enumerate(value.args):
            chosen = value.name == "select" and place > 0
            around = (*path, (value.args[0], place == 1)) if chosen else path
            yield from _reads(arg, around)
        return
    for inner in values_inside(value):
        yield from _reads(inner, path)
    if isinstance(value, Read):
        yield value, path


def _implied(value: Value, *, truth: bool) -> list[Condition]:
    """Conditions on indexes that hold where a value of dtype bool is as given."""
    if not isinstance(value, Op):
        return []
    if value.name == "not":
        return _implied(value.args[0], truth=not truth)
    if value.name == ("and" if truth else "or"):
        return [one for arg in value.args for one in _implied(arg, truth=truth)]
    if condition := condition_of(value.name, value.args):
        index, limit = condition
        return [condition if truth else (-index, 1 - limit)]
    if value.name == ("eq" if truth else "ne"):
        left, right = value.args
        if isinstance(left, IndexValue) and isinstance(right, IndexValue):
            difference = left.value - right.value
            return [(difference, 1), (-difference, 1)]
    return []


def _inside(index: Affine, extent: int, path: Path, facts: Facts, *, trusted: bool) -> bool:
    """Whether the index is in the extent wherever the path may lead; `trusted` if that is far."""
    variables = list(index.variables().union(*(_variables(value) for value, _ in path)))
    counts = [facts.bounds[var][1] + 1 for var in variables]
    if _is_found(index):
        return False
    if prod(counts) > _MOST_POINTS:
        return trusted
    import numpy as np

    from tilewright_tensor.evaluation.numpy_value import index_at

    points = dict(zip(variables, np.ix_(*map(np.arange, counts)), strict=True))
    reached: Any = True
    for value, truth in path:
        may = _may_be(value, points)
        reached = reached & may[truth]
    place = index_at(index, points)
    return not np.any(reached & ((place < 0) | (place >= extent)))


def _may_be(value: Value, points: Any) -> tuple[Any, Any]:
    """At each point, whether a value of dtype bool may be False, and whether it may be True."""
    if isinstance(value, Op):
        if value.name == "not":
            no, yes = _may_be(value.args[0], points)
            return yes, no
        if value.name in ("and", "or"):
            (no, yes), (also_no, also_yes) = (_may_be(arg, points) for arg in value.args)
            return (
                (no | also_no, yes & also_yes)
                if value.name == "and"
                else (
                    no & also_no,
                    yes | also_yes,
                )
            )
        if _decidable(value.args):
            from tilewright_tensor.evaluation.numpy_value import value_at

            yes = value_at(value, points, _nothing, _named)
            return ~yes, yes
    return True, True


def _decidable(args: Sequence[Value]) -> bool:
    return all(isinstance(arg, IndexValue) and not _is_found(arg.value) for arg in args)


def _is_found(index: Affine) -> bool:
    """Whether something in it is found in memory."""
    return any(elements(atom) for atom, _ in index.terms)


def _variables(value: Value) -> frozenset[Var]:
    """Those of the comparisons of indexes in it."""
    indexes = (leaf.value for leaf in leaves(value) if isinstance(leaf, IndexValue))
    return frozenset[Var]().union(*(index.variables() for index in indexes))


def _nothing(*_read: Any) -> Any:
    raise AssertionError("comparisons of indexes read nothing")


def _named(dtype: str) -> Any:

    return numpy_type(dtype).type
