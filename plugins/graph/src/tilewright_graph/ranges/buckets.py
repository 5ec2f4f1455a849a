"""One network at several sizes of its dimensions, and where their rows lie."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import UsageError
from tilewright_graph.network.network import Network
from tilewright_graph.ranges.dimension import Dimension
from tilewright_graph.ranges.dimensions import Dimensions, Sizes
from tilewright_graph.ranges.row_masks import with_masks
from tilewright_graph.ranges.rows import RowProof, RowsMeetError, prove_rows
from tilewright_graph.ranges.size_range import SizeRange
from tilewright_graph.ranges.stage_rows import Rows
from tilewright_tensor.expressions.dtype import is_float
from tilewright_tensor.operators.operators import Operators

_BEYOND_TWO = 3
"""A size of no range 1..2 to compare two rows with."""

_log = logging.getLogger("tilewright")

MOST_NETWORKS = 128
"""That are compiled for the ranges of a model."""


@dataclass(frozen=True)
class Buckets:
    """The networks of every combination of the dimensions' buckets, ascending.

    Equal constants are one array in all of them.
    """

    dimensions: Dimensions
    networks: Mapping[Sizes, Network]

    @property
    def largest(self) -> Network:
        return self.networks[self.dimensions.most]


def make_buckets(
    ranges: Mapping[str, SizeRange],
    axes: Mapping[str, Mapping[str, Sequence[int]]],
    read: Callable[[Mapping[str, int]], Network],
    operators: Operators,
) -> Buckets:
    """The buckets of named dimensions; `read` gives the network at a size of each.

    axes   of inputs, by dimension: where it is

    Where rows of a dimension meet, and no mask keeps those apart that are not given, each of its
    sizes has a bucket. Where they are not independent, there are more buckets than elsewhere,
    unless these are too many. Raises UsageError where there are too many in any case.
    """
    grid = _Grid(ranges, axes, read, operators)
    met: dict[str, RowsMeetError] = {}
    finely, coarsely = set[str](), set[str]()
    while True:
        _check_count(ranges, met)
        padded = [name for name in ranges if name not in met]
        try:
            rows = grid.rows_of(padded, _compiled(ranges, met, finely))
        except _RowsOfOneMeetError as error:
            if error.dimension in finely:  # its coarse buckets were proved
                coarsely.add(error.dimension)
            else:
                met[error.dimension] = error.meeting
            finely.clear()
            continue
        dependent = {name for name in padded if not grid.is_independent(name)} - coarsely
        if finely == dependent or _count(_compiled(ranges, met, dependent)) > MOST_NETWORKS:
            break
        finely |= dependent
    for name, meeting in met.items():
        why = f"{meeting.message}, so each of {len(ranges[name])} sizes is compiled"
        _log.warning("%s: %s is no batch: %s", meeting.where, name, why)
    networks = {
        sizes: grid.masked(sizes, padded)
        for sizes in product(*_compiled(ranges, met, finely).values())
    }
    dimensions = []
    for at, (name, sizes) in enumerate(ranges.items()):
        every = {one: tuple(map(Rows, places)) for one, places in axes[name].items()}
        every |= _told_by_shapes(networks, at) if name in met else rows[name]
        independent = name in padded and grid.is_independent(name)
        masked = name in padded and not independent
        mask = _mask(name) if masked and grid.has_masks(name) else ""
        dimensions.append(Dimension(name, sizes, every, independent, masked, mask))
    return Buckets(Dimensions(tuple(dimensions)), networks)


def _compiled(
    ranges: Mapping[str, SizeRange],
    met: Mapping[str, RowsMeetError],
    finely: Set[str] = frozenset(),
) -> dict[str, tuple[int, ...]]:
    """The sizes of each dimension that have buckets."""
    return {
        name: tuple(one) if name in met else one.buckets(finely=name in finely)
        for name, one in ranges.items()
    }


def _count(compiled: Mapping[str, tuple[int, ...]]) -> int:
    """Of the networks."""
    return prod(map(len, compiled.values()))


def _check_count(ranges: Mapping[str, SizeRange], met: Mapping[str, RowsMeetError]) -> None:
    """Raise UsageError where there are more buckets than may be."""
    compiled = _compiled(ranges, met)
    count = _count(compiled)
    if count <= MOST_NETWORKS:
        return
    told = ", ".join(f"{name}={sizes}" for name, sizes in ranges.items())
    problem = f"{told}: {count} networks, expected at most {MOST_NETWORKS}"
    where, remedy = "dims", "give a smaller range, or one size"
    for name, error in met.items():
        where = error.where
        problem += f"; {name} is no batch: {error.message}, so each of its sizes is compiled"
        if (left := MOST_NETWORKS * len(compiled[name]) // count) > 1:
            remedy = f"give {name} at most {left} sizes"
    raise UsageError(problem, where=where, remedy=remedy)


class _RowsOfOneMeetError(Exception):
    """Rows of this dimension do."""

    def __init__(self, dimension: str, meeting: RowsMeetError) -> None:
        super().__init__(dimension)
        self.dimension, self.meeting = dimension, meeting


class _Grid:
    """The networks at combinations of sizes, each read once, and what is proved of them."""

    def __init__(
        self,
        ranges: Mapping[str, SizeRange],
        axes: Mapping[str, Mapping[str, Sequence[int]]],
        read: Callable[[Mapping[str, int]], Network],
        operators: Operators,
    ) -> None:
        self._ranges, self._axes, self._read, self._operators = ranges, axes, read, operators
        self._places = {name: place for place, name in enumerate(ranges)}
        self._networks: dict[Sizes, Network] = {}
        self._proofs: dict[tuple[Sizes, str], RowProof] = {}

    def network(self, sizes: Sizes) -> Network:
        if sizes not in self._networks:
            told = dict(zip(self._ranges, sizes, strict=True))
            try:
                read = self._read(told)
            except UsageError as error:
                raise error.within(", ".join(f"{n}={size}" for n, size in told.items())) from None
            first = next(iter(self._networks.values()), None)
            self._networks[sizes] = _sharing(read, first)
        return self._networks[sizes]

    def masked(self, sizes: Sizes, names: Sequence[str]) -> Network:
        """The network with the masks that the proofs for these dimensions ask for."""
        network = self.network(sizes)
        for name in names:
            rows = sizes[self._places[name]]
            if rows > 1 and self.has_masks(name):
                masks = self._proof(name, sizes).masks
                network = with_masks(network, _mask(name), rows, masks, self._operators)
        return network

    def is_independent(self, name: str) -> bool:
        """Whether no row of a dimension depends on others; of those that are proved."""
        return all(proof.independent for (_, of), proof in self._proofs.items() if of == name)

    def has_masks(self, name: str) -> bool:
        return any(proof.masks for (_, of), proof in self._proofs.items() if of == name)

    def rows_of(
        self, names: list[str], compiled: Mapping[str, tuple[int, ...]]
    ) -> dict[str, Mapping[str, tuple[Rows, ...]]]:
        """Where rows of these dimensions lie in results, as the networks of all sizes agree.

        Raises _RowsOfOneMeetError; the largest sizes are looked at first.
        """
        found: dict[str, Mapping[str, tuple[Rows, ...]]] = {}
        for name in names:
            for sizes in self._compared(name, compiled):
                try:
                    found[name] = self._proved(name, sizes, found.get(name))
                except RowsMeetError as error:
                    raise _RowsOfOneMeetError(name, error) from None
                except UsageError as error:
                    if sizes[self._places[name]] in self._ranges[name]:
                        raise
                    meeting = RowsMeetError(error.message, where=error.where)
                    raise _RowsOfOneMeetError(name, meeting) from None
        return found

    def _compared(self, name: str, compiled: Mapping[str, tuple[int, ...]]) -> Iterator[Sizes]:
        """The sizes at which proofs are compared, at least two above one.

        Not only those that are compiled: what depends on the size may show at the least one, or
        where it is odd.
        """
        yield from product(*(one[::-1] for one in compiled.values()))
        place, range_ = self._places[name], self._ranges[name]
        most = tuple(one.most for one in self._ranges.values())
        more = {range_.most - 1, range_.least} if range_.most > 2 else {_BEYOND_TWO}
        for size in more - {*compiled[name]}:
            yield (*most[:place], size, *most[place + 1 :])

    def _proved(
        self, name: str, sizes: Sizes, known: Mapping[str, tuple[Rows, ...]] | None
    ) -> Mapping[str, tuple[Rows, ...]]:
        """Where rows of a dimension lie in results: as is known. Raises RowsMeetError."""
        place = self._places[name]
        most = (*sizes[:place], self._ranges[name].most, *sizes[place + 1 :])
        network, largest, rows = self.network(sizes), self.network(most), known or {}
        if sizes[place] > 1:  # one row serves no size but its own
            proof = self._proof(name, sizes)
            if sizes != most:
                _check_alike(largest, network, self._proof(name, most), proof)
            rows = {one: proof.rows[one] for one in network.results if one in proof.rows}
        if known not in (None, rows):
            problem = "where its rows lie in results depends on other dimensions"
            raise RowsMeetError(problem, where=network.name)
        for tensor in network.results:
            if tensor not in rows and network.specs[tensor].shape != largest.specs[tensor].shape:
                problem = f"the shape of the result {tensor!r} depends on the size alone"
                raise RowsMeetError(problem, where=network.name)
        return rows

    def _proof(self, name: str, sizes: Sizes) -> RowProof:
        if (sizes, name) not in self._proofs:
            network, place = self.network(sizes), self._places[name]
            count, constants = sizes[place], self._constants_with_rows(name, sizes)
            lie = {one: tuple(map(Rows, places)) for one, places in self._axes[name].items()}
            proof = prove_rows(network, lie | constants, count, self._operators)
            self._proofs[sizes, name] = proof
        return self._proofs[sizes, name]

    def _constants_with_rows(self, name: str, sizes: Sizes) -> dict[str, tuple[Rows, ...]]:
        """Those that are longer where there are more rows, and not the same for all of them."""
        place, range_ = self._places[name], self._ranges[name]
        count, other = sizes[place], range_.most
        if count == other:
            other = max(n for n in (range_.least, *range_.buckets()) if n < count)
        theirs = self.network((*sizes[:place], other, *sizes[place + 1 :])).constants
        found = {}
        for tensor, array in self.network(sizes).constants.items():
            shapes = array.shape, theirs[tensor].shape if tensor in theirs else ()
            if len(shapes[0]) == len(shapes[1]) and shapes[0] != shapes[1]:
                pairs = [*zip(*shapes, strict=True)]
                axes = [axis for axis, pair in enumerate(pairs) if pair == (count, other)]
                if rows := tuple(Rows(at) for at in axes if not _is_even(array, at)):
                    found[tensor] = rows
        return found


def _told_by_shapes(networks: Mapping[Sizes, Network], place: int) -> dict[str, tuple[Rows, ...]]:
    """Where a dimension is in results whose shapes say so at every size."""
    most = max(networks)
    found = {}
    for tensor in networks[most].results:
        shape = networks[most].specs[tensor].shape
        rows = tuple(
            placed
            for placed in (Rows(axis, n // most[place]) for axis, n in enumerate(shape))
            if placed.within
            and all(_is_told(networks, one, place, tensor, (placed,)) for one in networks)
        )
        if rows and all(
            _is_told(networks, one, place, tensor, rows, whole=True) for one in networks
        ):
            found[tensor] = rows
    return found


def _is_told(
    networks: Mapping[Sizes, Network],
    sizes: Sizes,
    place: int,
    tensor: str,
    rows: tuple[Rows, ...],
    *,
    whole: bool = False,
) -> bool:
    """Whether these axes are as long as the size says; `whole`: all others as at the largest."""
    top = (*sizes[:place], max(networks)[place], *sizes[place + 1 :])
    own = networks[sizes].specs[tensor].shape
    shape = list(networks[top].specs[tensor].shape)
    if len(own) != len(shape):
        return False
    for one in rows:
        shape[one.axis] = sizes[place] * one.within
    return tuple(shape) == own if whole else all(shape[r.axis] == own[r.axis] for r in rows)


def _check_alike(largest: Network, network: Network, first: RowProof, proof: RowProof) -> None:
    """Raise RowsMeetError where the number of rows is computed with."""
    if len(first.nodes) != len(proof.nodes):
        raise RowsMeetError("its nodes depend on the size", where=network.name)
    for node, one, two in zip(network.nodes, first.nodes, proof.nodes, strict=True):
        if one != two:
            problem = f"node {node.name!r} ({node.operator}) depends on the size"
            raise RowsMeetError(problem, where=network.name)
        for name in network.constants.keys() & set(node.inputs):
            if not _alike(network.constants[name], largest.constants.get(name)):
                problem = (
                    f"node {node.name!r} ({node.operator}) reads numbers that depend on the size"
                )
                raise RowsMeetError(problem, where=network.name)


def _alike(one: Any, other: Any) -> bool:
    """Whether they are the same as far as both have rows."""
    if one is other:
        return True
    if other is None or one.ndim != other.ndim or one.dtype != other.dtype:
        return False
    both = tuple(map(slice, map(min, one.shape, other.shape)))
    return bool(np.array_equal(one[both], other[both], equal_nan=is_float(one.dtype.name)))


def _is_even(array: Any, axis: int) -> bool:
    return bool(np.all(array == array.take([0], axis)))


def _mask(dimension: str) -> str:
    """The input that says which rows of it are given."""
    return f"rows of {dimension}"


def _sharing(network: Network, other: Network | None) -> Network:
    """The network with the other's source and constants where they are the same."""
    if other is None:
        return network
    constants = {
        name: theirs if _same(array, theirs := other.constants.get(name)) else array
        for name, array in network.constants.items()
    }
    source = other.source if network.source == other.source else network.source
    return replace(network, constants=constants, source=source)


def _same(one: Any, other: Any) -> bool:
    if other is None or one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(one.tobytes() == other.tobytes())
