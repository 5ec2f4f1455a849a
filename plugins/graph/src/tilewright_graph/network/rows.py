"""Whether a network treats the rows along a dimension, such as a batch, each by itself.

It is read off the definitions of its operators. Let the dimension have n rows. Where they lie along
an axis of a tensor, the axis is taken apart into `(before, row, within)`; put into the indexes of a
stage's definition, the row must come out again as the row of everything that is read, and stand
nowhere else. Then no row of the result depends on another, and rows may be added at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import UsageError
from tilewright.vocabulary.workload import Workload
from tilewright_graph.network.network import Network, Node
from tilewright_tensor.expressions.affine import Affine, Bounds, Element, Var, divided, index
from tilewright_tensor.expressions.expr import (
    Const,
    IndexValue,
    Op,
    Read,
    Value,
    substituted,
    values_inside,
)
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.operators.operators import Operators

_BEFORE, _ROW, _WITHIN = (Var(f"{name}'") for name in ("before", "row", "within"))
"""The parts of an axis; no axis of a definition has such a name."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Where rows lie: element i of the axis is of row `i // within % n`."""

    axis: int
    within: int = 1


class RowsMeetError(UsageError):
    """A row of a network depends on others, or on how many there are."""


class _MixedError(Exception):
    """A row of a stage depends on others."""


@dataclass(frozen=True)
class RowProof:
    """What was found of a network of so many rows.

    rows   where they lie, by tensor; other tensors are the same for every row
    nodes  what each node computes of a row, in order: equal for other numbers of rows, unless the
           number itself is computed with
    """

    rows: Mapping[str, Rows]
    nodes: tuple[Any, ...]


def prove_rows(
    network: Network, axes: Mapping[str, int], count: int, operators: Operators
) -> RowProof:
    """The proof for rows along these axes of the inputs, two rows or more.

    Raises RowsMeetError that names the first node in which they do.
    """
    proof = _Proof(network, count, operators)
    rows = {name: Rows(axis) for name, axis in axes.items()}
    nodes = []
    for node in network.nodes:
        try:
            found, told = proof.of(node, rows)
        except _MixedError:
            raise RowsMeetError(
                f"rows meet in node {node.name!r} ({node.operator})", where=network.name
            ) from None
        if found is not None:
            rows[node.output] = found
        nodes.append((node.operator, node.inputs, node.output, told))
    for name in network.results:
        if name in rows and network.specs[name].shape[rows[name].axis] != count * rows[name].within:
            raise RowsMeetError(f"rows of the result {name!r} take turns", where=network.name)
    return RowProof(rows, tuple(nodes))


class _Proof:
    """Goes through the nodes of one network; equal ones are looked at once."""

    def __init__(self, network: Network, count: int, operators: Operators) -> None:
        self._network, self._count, self._operators = network, count, operators
        self._known: dict[Any, tuple[Rows | None, Any]] = {}

    def of(self, node: Node, rows: Mapping[str, Rows]) -> tuple[Rows | None, Any]:
        """Where rows lie in the output, and what is computed. Raises _MixedError."""
        network = self._network
        specs = tuple(network.specs[name] for name in node.inputs)
        own = tuple(rows.get(name) for name in node.inputs)
        even = tuple(self._even_axes(name) for name in node.inputs)
        workload = Workload(node.operator, specs, node.attributes)
        key = (workload, own, even)
        if key not in self._known:
            self._known[key] = self._found(workload, own, even)
        return self._known[key]

    def _even_axes(self, name: str) -> frozenset[int]:
        """The axes of a constant as long as there are rows, along which it does not change."""
        array = self._network.constants.get(name)
        if array is None:
            return frozenset()
        return frozenset(
            axis
            for axis, extent in enumerate(array.shape)
            if extent == self._count and bool(np.all(array == array.take([0], axis)))
        )

    def _found(
        self,
        workload: Workload,
        own: tuple[Rows | None, ...],
        even: tuple[frozenset[int], ...],
    ) -> tuple[Rows | None, Any]:
        definition = self._operators[workload.operator]
        if definition.program is not None or definition.counted:
            if any(own):
                raise _MixedError
            return None, repr(workload)
        dag = self._operators.compute_dag(workload)
        rows = {tensor: one for tensor, one in zip(dag.inputs, own, strict=True) if one}
        evens = dict(zip(dag.inputs, even, strict=True))
        told = []
        for stage in dag.computes:
            if any(read.tensor in rows for read in stage.reads):
                rows[stage], words = self._placed(stage, rows, evens)
            else:
                words = (stage.shape, _words(stage.body, {}, {}, {}, 1))
            reduced = tuple(axis.extent for axis in stage.reduce_axes)
            told.append((stage.dtype, stage.combiner and stage.combiner.name, reduced, words))
        return rows.get(dag.outputs[0]), tuple(told)

    def _placed(
        self,
        stage: Tensor,
        rows: Mapping[Tensor, Rows],
        even: Mapping[Tensor, frozenset[int]],
    ) -> tuple[Rows, Any]:
        """The first place of rows in the stage for which the proof goes through."""
        for axis, extent in enumerate(stage.shape):
            inner = extent // self._count if extent % self._count == 0 else 0
            for within in (n for n in range(1, inner + 1) if inner % n == 0):
                placed = Rows(axis, within)
                try:
                    words = self._words_of_a_row(stage, placed, rows, even)
                except _MixedError:
                    continue
                shape = [*stage.shape]
                shape[axis] = inner
                return placed, (placed, tuple(shape), words)
        raise _MixedError

    def _words_of_a_row(
        self,
        stage: Tensor,
        placed: Rows,
        rows: Mapping[Tensor, Rows],
        even: Mapping[Tensor, frozenset[int]],
    ) -> Any:
        split = stage.axes[placed.axis]
        before = split.extent // (self._count * placed.within)
        parts = ((_BEFORE, before), (_ROW, self._count), (_WITHIN, placed.within))
        every = (*stage.axes, *stage.reduce_axes)
        bounds = {axis.var: (0, axis.extent - 1) for axis in every}
        bounds |= {part: (0, extent - 1) for part, extent in parts}
        values = {axis.var: index(0) for axis in every if axis.extent == 1}
        position = index(0)
        for part, extent in parts:
            position = position * extent + (part if extent > 1 else 0)
        assert stage.body is not None
        body = substituted(stage.body, {**values, split.var: position}, bounds)
        return _words(body, bounds, rows, even, self._count)


def _words(
    value: Value | None,
    bounds: Bounds,
    rows: Mapping[Tensor, Rows],
    even: Mapping[Tensor, frozenset[int]],
    count: int,
) -> tuple[Any, ...]:
    """The expression in prefix order, without the row; _MixedError where it stands elsewhere."""
    found: list[Any] = []
    pending = [value] if value is not None else []
    while pending:
        one = pending.pop()
        if isinstance(one, Op):
            found.append((one.name, one.dtype, len(one.args)))
            pending += one.args[::-1]
            continue
        if isinstance(one, Const):
            found.append((repr(one.value), one.dtype))
        elif isinstance(one, IndexValue):
            found.append(_without_row(one.value))
        else:
            assert isinstance(one, Read)
            found.append((one.tensor.name, *_places(one, bounds, rows, even, count)))
        pending += values_inside(one)[::-1]
    return tuple(found)


def _places(
    read: Read,
    bounds: Bounds,
    rows: Mapping[Tensor, Rows],
    even: Mapping[Tensor, frozenset[int]],
    count: int,
) -> Iterator[Any]:
    """Where in each axis it reads; where rows lie, by which row is checked, and left out."""
    own = rows.get(read.tensor)
    for axis, place in enumerate(read.indices):
        if own is not None and axis == own.axis:
            quotient, within = divided(place, own.within, bounds)
            before, row = divided(quotient, count, bounds)
            if row != _ROW.affine():
                raise _MixedError
            yield _without_row(before), _without_row(within)
        elif axis in even.get(read.tensor, ()) and _variables(place) == {_ROW}:
            yield "any"
        else:
            yield _without_row(place)


def _without_row(place: Affine) -> str:
    if _ROW in _variables(place):
        raise _MixedError
    return str(place)


def _variables(place: Affine) -> set[Var]:
    """Those that it is computed with; what is found in memory is read, and checked there."""
    found: set[Var] = set()
    for atom, _ in place.terms:
        if isinstance(atom, Var):
            found.add(atom)
        elif not isinstance(atom, Element):
            found |= _variables(atom.value)
    return found
