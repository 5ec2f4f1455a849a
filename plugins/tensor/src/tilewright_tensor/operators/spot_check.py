"""Compares a numpy reference with the definition, where the output begins and where it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from tilewright.errors import UsageError
from tilewright_tensor.evaluation.evaluate import evaluate
from tilewright_tensor.evaluation.numpy_value import Array
from tilewright_tensor.expressions.expr import substituted
from tilewright_tensor.ir.dag import Axis, Dag, Tensor

_EDGE = 2
"""Elements compared along each axis, at each end."""
_POINTS = 1 << 24
"""A definition with helping stages larger than this is not evaluated: that would take seconds."""


def spot_check(dag: Dag, arrays: Sequence[Array], result: Array) -> None:
    """Raises UsageError where the reference's result is not what the definition gives.

    Two corners of the output are computed, float64 like the result; helping stages as a whole.
    """
    output = dag.outputs[0]
    if result.shape != output.shape:
        raise UsageError(
            f"the reference of {output.name} gives shape {list(result.shape)}, "
            f"its definition {list(output.shape)}"
        )
    edge = [min(_EDGE, extent) for extent in output.shape]
    last = [extent - few for extent, few in zip(output.shape, edge, strict=True)]
    for start in dict.fromkeys([(0,) * len(edge), tuple(last)]):
        part = Dag([_corner(output, start, edge)], dag.inputs)
        if sum(map(_points, part.computes)) > _POINTS:
            return
        (expected,) = evaluate(part, arrays)
        got = result[tuple(slice(b, b + few) for b, few in zip(start, edge, strict=True))]
        close = np.isclose(got, expected, rtol=1e-6, atol=1e-9, equal_nan=True)
        if not close.all():
            place = tuple(int(i) for i in np.argwhere(~close)[0])
            index = [b + i for b, i in zip(start, place, strict=True)]
            raise UsageError(
                f"{output.name}: at {index} the reference gives {got[place]:.9g}, "
                f"the definition {expected[place]:.9g}",
                remedy="one of the two is wrong",
            )


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
