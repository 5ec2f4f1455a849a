"""An index as a part that is fixed somewhere, and what the rest of it ranges over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilewright_tensor.expressions.affine import Affine, Bounds, Var
from tilewright_tensor.lowering.fold import Fold, fold_of


class Span(NamedTuple):
    """An index as the part of fixed variables, and the range of the rest and how it lies apart."""

    origin: Affine
    low: int
    high: int
    fold: Fold | None


def span_of(index: Affine, fixed: set[Var], bounds: Bounds) -> Span | None:
    """None where fixed variables and others mix."""
    if not index.terms:
        return Span(Affine(), index.constant, index.constant, None)
    outer, inner = [], []
    for term in index.terms:
        atom = term[0]
        variables = {atom} if isinstance(atom, Var) else atom.variables()
        if variables <= fixed:
            outer.append(term)
        elif fixed.isdisjoint(variables):
            inner.append(term)
        else:
            return None
    low, high = Affine(tuple(inner), index.constant).range(bounds)
    return Span(Affine(tuple(outer)), low, high, fold_of(inner, bounds))


def common_span(spans: Sequence[Span | None]) -> Span | None:
    """The span of several indexes from one origin; None where they have none in common."""
    first, *others = spans
    for one in others:
        if first is None or one is None or one.origin != first.origin:
            return None
        fold = first.fold if first.fold == one.fold else None
        first = Span(first.origin, min(first.low, one.low), max(first.high, one.high), fold)
    return first
