"""The two ends of what a compute DAG gives, which are soon evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from tilewright_tensor.expressions.expr import substituted
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.ir.dag import Dag

_EDGE = 2
"""Elements along each axis, at each end."""


def corners(dag: Dag, most_points: int) -> Iterator[tuple[tuple[slice, ...], Dag]]:
    """The place of each end in the output, and the DAG that gives it, helping stages as a whole.

    None where these would take more than so many points.
    """
    output = dag.outputs[0]
    edge = [min(_EDGE, extent) for extent in output.shape]
    last = [extent - few for extent, few in zip(output.shape, edge, strict=True)]
    for start in dict.fromkeys([(0,) * len(edge), tuple(last)]):
        part = Dag([_corner(output, start, edge)], dag.inputs)
        if sum(map(_points, part.computes)) > most_points:
            return
        yield tuple(slice(b, b + few) for b, few in zip(start, edge, strict=True)), part


def _corner(tensor: Tensor, start: Sequence[int], extents: Sequence[int]) -> Tensor:
    """The part of a tensor from a place on."""
    moved = {
        axis.var: axis.affine() + begin for axis, begin in zip(tensor.axes, start, strict=True)
    }
    assert tensor.body is not None
    axes = tuple(Axis(a.name, extent) for a, extent in zip(tensor.axes, extents, strict=True))
    return replace(tensor, shape=tuple(extents), axes=axes, body=substituted(tensor.body, moved))


def _points(tensor: Tensor) -> int:
    return prod(tensor.shape) * prod(axis.extent for axis in tensor.reduce_axes)
