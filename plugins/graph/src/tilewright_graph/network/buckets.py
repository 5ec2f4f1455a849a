"""One network at several sizes of a named dimension, and which size runs where."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.errors import UsageError
from tilewright_graph.network.dimension import Dimension
from tilewright_graph.network.network import Network
from tilewright_graph.network.rows import RowProof, Rows, RowsMeetError, prove_rows
from tilewright_graph.network.size_range import SizeRange
from tilewright_tensor.operators.operators import Operators

_log = logging.getLogger("tilewright")

MOST_EXACT = 16
"""Sizes that are compiled one by one where rows meet."""


@dataclass(frozen=True)
class Buckets:
    """The networks of a dimension, by size, ascending.

    Equal constants are one array in all of them.
    """

    dimension: Dimension
    networks: Mapping[int, Network]

    @property
    def largest(self) -> Network:
        return self.networks[self.dimension.sizes.most]


def make_buckets(
    name: str,
    sizes: SizeRange,
    axes: Mapping[str, int],
    read: Callable[[int], Network],
    operators: Operators,
) -> Buckets:
    """The buckets of a dimension, which is this axis of these inputs; `read` gives a network.

    Raises UsageError where rows meet and there are too many sizes to compile each.
    """
    networks: dict[int, Network] = {}

    def of(size: int) -> Network:
        if size not in networks:
            networks[size] = _sharing(read(size), next(iter(networks.values()), None))
        return networks[size]

    inputs = {tensor: Rows(axis) for tensor, axis in axes.items()}
    compiled, independent = sizes.buckets(), True
    try:
        rows = _rows(compiled, axes, of, operators)
    except RowsMeetError as error:
        if len(sizes) > MOST_EXACT:
            raise UsageError(
                f"{name} is no batch: {error.message}, so no size can stand for another",
                where=error.where,
                remedy=f"give a range of at most {MOST_EXACT} sizes, and each is compiled",
            ) from None
        why = f"{error.message}, so each of {len(sizes)} sizes is compiled"
        _log.warning("%s: %s is no batch: %s", error.where, name, why)
        rows, compiled, independent = {}, tuple(sizes), False
    dimension = Dimension(name, sizes, {**inputs, **rows}, independent)
    return Buckets(dimension, {size: of(size) for size in compiled})


def _rows(
    sizes: tuple[int, ...],
    axes: Mapping[str, int],
    of: Callable[[int], Network],
    operators: Operators,
) -> Mapping[str, Rows]:
    """Where rows lie in results, as networks of all sizes agree. Raises RowsMeetError."""
    largest = of(sizes[-1])
    first = prove_rows(largest, axes, sizes[-1], operators)
    for size in sizes[:-1]:
        if size > 1:  # one row serves no size but its own
            network = of(size)
            _check_alike(largest, network, first, prove_rows(network, axes, size, operators))
    return {tensor: first.rows[tensor] for tensor in largest.results if tensor in first.rows}


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
    """Whether they are the same, but for how long axes are along which they do not change."""
    if one is other:
        return True
    if other is None or one.ndim != other.ndim or one.dtype != other.dtype:
        return False
    for axis, (own, extent) in enumerate(zip(one.shape, other.shape, strict=True)):
        if own != extent:
            first = one.take([0], axis), other.take([0], axis)
            if not all(np.all(a == b) for a, b in zip((one, other), first, strict=True)):
                return False
            one, other = first
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))


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
