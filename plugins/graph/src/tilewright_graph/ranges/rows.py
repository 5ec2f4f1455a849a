"""Which rows along a dimension, such as a batch, a network needs for which of its results.

It is read off the definitions of its operators, stage by stage (see `stage_rows`). Where the proof
goes through, rows may be added at the end: those that were given come out the same.

A reduction may run over rows where those beyond the last change nothing (see `evaluation/tails` of
tilewright-tensor). An operand that does not have such a tail can get it by a mask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tilewright.errors import UsageError
from tilewright.vocabulary.workload import Workload
from tilewright_graph.network.network import Network, Node
from tilewright_graph.ranges.stage_rows import (
    MixedError,
    Rows,
    StageRows,
    Tails,
    kind_of,
    neutral,
    words_of,
)
from tilewright_tensor.evaluation.tails import Number
from tilewright_tensor.operators.operators import Operators


class RowsMeetError(UsageError):
    """A row of a network depends on others, or on how many there are."""


@dataclass(frozen=True, slots=True)
class Mask:
    """Rows of an operand of a node beyond the last are to be this value, along an axis."""

    output: str
    operand: int
    axis: int
    value: Number


@dataclass(frozen=True)
class RowProof:
    """What was found of a network of so many rows.

    rows         where they lie, by tensor; other tensors are the same for every row
    nodes        what each node computes of a row, in order: equal for other numbers of rows, unless
                 the number itself is computed with
    tails        what elements beyond the last row are, where that is known, by tensor
    masks        without which rows may not be added
    independent  no row depends on others, nor on its own number: each may run by itself
    """

    rows: Mapping[str, tuple[Rows, ...]]
    nodes: tuple[Any, ...]
    tails: Mapping[str, Tails]
    masks: tuple[Mask, ...]
    independent: bool


@dataclass(frozen=True)
class _Operand:
    """What is known of an operand; see `StageRows`."""

    rows: tuple[Rows, ...]
    tails: tuple[tuple[int, Number], ...]
    even: frozenset[int]
    value: Number | None

    def masked(self, tails: Tails) -> _Operand:
        return replace(self, tails=tuple({**dict(self.tails), **tails}.items()))


@dataclass(frozen=True)
class _Found:
    """Of a node: where rows lie in its output, what it computes, what its operands need."""

    rows: tuple[Rows, ...]
    told: Any
    tails: Tails = field(default_factory=dict)
    masks: tuple[tuple[int, int, Number], ...] = ()
    independent: bool = True


def prove_rows(
    network: Network,
    given: Mapping[str, tuple[Rows, ...]],
    count: int,
    operators: Operators,
    tails: Mapping[str, Tails] | None = None,
) -> RowProof:
    """The proof for rows that lie so in inputs, two rows or more.

    Constants may have them, too, such as what is added to each place of a text. With `tails`, those
    of inputs, the proof is of this number of rows alone: constants have all of theirs.

    Raises RowsMeetError that names the first node in which they do.
    """
    proof = _Proof(network, count, operators, alone=tails is not None)
    rows, ends = dict(given), dict(tails or {})
    nodes, masks = [], []
    # Of a constant, and of an input that has them twice, a row tells its number.
    independent = all(len(each) == 1 for each in given.values())
    independent &= network.constants.keys().isdisjoint(given)
    for node in network.nodes:
        try:
            found = proof.of(node, rows, ends)
        except MixedError:
            raise RowsMeetError(
                f"rows meet in node {node.name!r} ({node.operator})", where=network.name
            ) from None
        if found.rows:
            rows[node.output], ends[node.output] = found.rows, found.tails
        independent &= found.independent
        masks += [Mask(node.output, *one) for one in found.masks]
        nodes.append((node.operator, node.inputs, node.output, found.told))
    for name in network.results:
        shape = network.specs[name].shape
        if any(shape[one.axis] != count * one.within for one in rows.get(name, ())):
            raise RowsMeetError(f"rows of the result {name!r} take turns", where=network.name)
    return RowProof(rows, tuple(nodes), ends, tuple(masks), independent)


class _Proof:
    """Goes through the nodes of one network; equal ones are looked at once."""

    def __init__(self, network: Network, count: int, operators: Operators, *, alone: bool) -> None:
        self._network, self._count, self._operators = network, count, operators
        self._alone = alone
        self._known: dict[Any, _Found] = {}

    def of(
        self, node: Node, rows: Mapping[str, tuple[Rows, ...]], tails: Mapping[str, Tails]
    ) -> _Found:
        """Raises MixedError."""
        network = self._network
        specs = tuple(network.specs[name] for name in node.inputs)
        workload = Workload(node.operator, specs, node.attributes)
        operands = tuple(
            _Operand(
                rows.get(name, ()),
                tuple(tails.get(name, {}).items()),
                self._even_axes(name),
                self._only_value(name),
            )
            for name in node.inputs
        )
        key = workload, operands
        if key not in self._known:
            self._known[key] = self._found(workload, operands)
        return self._known[key]

    def _only_value(self, name: str) -> Number | None:
        array = self._network.constants.get(name)
        return array.item() if array is not None and array.size == 1 else None

    def _even_axes(self, name: str) -> frozenset[int]:
        """The axes of a constant of which any row may be read.

        They are as long as there are rows, and along them it does not change.
        """
        array = self._network.constants.get(name)
        if array is None:
            return frozenset()
        return frozenset(
            axis
            for axis, extent in enumerate(array.shape)
            if self._alone
            or (extent == self._count and bool(np.all(array == array.take([0], axis))))
        )

    def _found(self, workload: Workload, operands: Sequence[_Operand]) -> _Found:
        """As it is, else with masks, as few as do."""
        if not any(one.rows for one in operands):
            return _Found((), repr(workload))
        definition = self._operators[workload.operator]
        if definition.program is not None or definition.counted:
            raise MixedError
        try:
            return self._through(workload, operands)
        except MixedError:
            return self._masked(workload, operands)

    def _masked(self, workload: Workload, operands: Sequence[_Operand]) -> _Found:
        """With as few masks as do, of a value that changes nothing in one of its reductions."""

        def through(masks: Mapping[tuple[int, int], Number]) -> _Found:
            masked = [
                one.masked({axis: value for (of, axis), value in masks.items() if of == at})
                for at, one in enumerate(operands)
            ]
            found = self._through(workload, masked)
            told = tuple((*place, value) for place, value in masks.items())
            return replace(found, told=(found.told, told), masks=told, independent=False)

        shapes = [one.shape for one in workload.inputs]
        places = [(at, lie.axis) for at, one in enumerate(operands) for lie in one.rows]
        places = [(at, axis) for at, axis in places if shapes[at][axis] == self._count]
        stages = self._operators.compute_dag(workload).computes
        for value in dict.fromkeys(neutral(one) for one in stages if one.combiner):
            masks = dict.fromkeys(places, value)
            try:
                found = through(masks)
            except MixedError:
                continue
            for place in places:
                fewer = {one: masks[one] for one in masks if one != place}
                with suppress(MixedError):
                    found, masks = through(fewer), fewer
            return found
        raise MixedError

    def _through(self, workload: Workload, operands: Sequence[_Operand]) -> _Found:
        """Through the stages of the definition."""
        dag = self._operators.compute_dag(workload)
        read = [*zip(dag.inputs, operands, strict=True)]
        state = StageRows(
            self._count,
            {tensor: one.rows for tensor, one in read if one.rows},
            {tensor: dict(one.tails) for tensor, one in read},
            {tensor: one.even for tensor, one in read},
            {tensor: one.value for tensor, one in read if one.value is not None},
        )
        told = []
        for stage in dag.computes:
            if any(read.tensor in state.rows for read in stage.reads):
                told.append(state.add(stage))
            else:
                reduced = tuple(axis.extent for axis in stage.reduce_axes)
                words = words_of(stage.body, {}, state)
                told.append((*kind_of(stage), stage.shape, reduced, words))
        last = dag.outputs[0]
        return _Found(
            state.rows.get(last, ()),
            tuple(told),
            state.tails.get(last, {}),
            independent=state.independent,
        )
