"""What no kernel can do without that computes a DAG as it says: multiply-adds and reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from tilewright_tensor.evaluation.numpy_value import value_at
from tilewright_tensor.expressions.affine import Affine, Var
from tilewright_tensor.expressions.dtype import numpy_type
from tilewright_tensor.expressions.expr import Const, Op, Read, Value, indexes_in, substituted
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import SUM, Dag

_MOST_POINTS = 1 << 20
"""Of conditions that are tried together; about what a large image and a large window have."""


@dataclass(frozen=True, slots=True)
class LeastWork:
    """Only what is certain: 0 where nothing is.

    operations  of sums of products, a multiply-add counting two; terms that padding makes zero are
                left out, as kernels may leave them out
    reads       elements of each placeholder, in order
    """

    operations: int = 0
    reads: Mapping[Tensor, int] = field(default_factory=dict)


def least_work(dag: Dag) -> LeastWork:
    """Of all sums of a DAG together."""
    terms, reads = 0, dict.fromkeys(dag.inputs, 0)
    for tensor in dag.computes:
        known = _Terms.of(tensor)
        if known is not None:
            terms += known.count(known.extents)
            for read in tensor.reads:
                if read.tensor.body is None:
                    reads[read.tensor] = max(reads[read.tensor], known.elements(read))
    return LeastWork(2 * terms, reads)


@dataclass(frozen=True, slots=True)
class _Terms:
    """The terms of a sum of products: which of them are not zero by a condition.

    extents   of all its axes
    where     by variables that conditions connect: an array over them, True for what may be
              another number than zero. A term counts where all of them are
    """

    extents: Mapping[Var, int]
    where: Mapping[tuple[Var, ...], Any]

    @classmethod
    def of(cls, tensor: Tensor) -> _Terms | None:
        """Of a sum; None where it is no sum of products, or conditions cannot be told."""
        body = tensor.body
        while isinstance(body, Op) and body.name == "cast":
            (body,) = body.args
        if tensor.combiner is not SUM or not (isinstance(body, Op) and body.name == "mul"):
            return None
        conditions = _conditions(body)
        if conditions is None:
            return None
        extents = {axis.var: axis.extent for axis in tensor.axes + tensor.reduce_axes}
        where = {}
        for variables, own in _connected(conditions):
            shape = tuple(extents[var] for var in variables)
            if prod(shape) > _MOST_POINTS:
                return None
            points = dict(zip(variables, np.ix_(*map(np.arange, shape)), strict=True))
            holds = np.ones(shape, bool)
            for condition in own:
                holds &= value_at(condition, points, _nothing, lambda name: numpy_type(name).type)
            where[variables] = holds
        return cls(extents, where)

    def count(self, wanted: Mapping[Var, int]) -> int:
        """How many combinations of these variables occur in terms that are not zero."""
        left, found = dict(wanted), 1
        for variables, holds in self.where.items():
            others = tuple(n for n, var in enumerate(variables) if var not in wanted)
            found *= int(np.count_nonzero(holds.any(axis=others)))
            for var in variables:
                left.pop(var, None)
        return found * prod(left.values())

    def elements(self, read: Read) -> int:
        """How many elements a read reaches; 0 where its indexes are more than variables."""
        found = [_variable(index) for index in read.indices]
        variables = {var for var in found if var is not None}
        if len(variables) < len(found):
            return 0
        return self.count({var: self.extents[var] for var in variables})


def _variable(index: Affine) -> Var | None:
    """The variable that an index is."""
    (atom, factor), *others = index.terms or ((None, 0),)
    plain = isinstance(atom, Var) and factor == 1 and not others and not index.constant
    return atom if plain and isinstance(atom, Var) else None


def _conditions(value: Value) -> list[Value] | None:
    """Without which a factor is zero; None where it may be zero otherwise, for all that is known.

    Operands are taken for numbers that are not zero, and so are sums.
    """
    if isinstance(value, Read):
        tensor = value.tensor
        if tensor.body is None or tensor.combiner is not None:
            return []
        axes = (axis.var for axis in tensor.axes)
        return _conditions(substituted(tensor.body, dict(zip(axes, value.indices, strict=True))))
    if not isinstance(value, Op):
        return None
    if value.name == "select":
        condition, inside, outside = value.args
        if not (isinstance(outside, Const) and outside.value == 0):
            return None
        own, rest = list(_conjuncts(condition)), _conditions(inside)
        known = rest is not None and not any(_reads(one) for one in own)
        return [*own, *(rest or ())] if known else None
    if value.name in ("mul", "cast"):
        found = [_conditions(arg) for arg in value.args]
        return None if None in found else [one for each in found for one in each or ()]
    return None


def _conjuncts(condition: Value) -> Iterator[Value]:
    if isinstance(condition, Op) and condition.name == "and":
        for arg in condition.args:
            yield from _conjuncts(arg)
    else:
        yield condition


def _reads(value: Value) -> bool:
    """Whether it depends on an operand."""
    return isinstance(value, Read) or (isinstance(value, Op) and any(map(_reads, value.args)))


def _connected(conditions: Sequence[Value]) -> list[tuple[tuple[Var, ...], list[Value]]]:
    """The conditions in groups that have no variable in common."""
    groups: list[tuple[set[Var], list[Value]]] = []
    for condition in conditions:
        variables = {var for index in indexes_in(condition) for var in index.variables()}
        own = [condition]
        for group in [group for group in groups if group[0] & variables]:
            groups.remove(group)
            variables |= group[0]
            own += group[1]
        groups.append((variables, own))
    return [(tuple(sorted(some, key=lambda var: var.name)), own) for some, own in groups]


def _nothing(*_: Any) -> Any:
    raise AssertionError("conditions read no operands")
