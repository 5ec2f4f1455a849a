"""The reference answer of a compute DAG, by numpy, in float64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tilewright_tensor.affine import Var
from tilewright_tensor.dag import Axis, Combiner, Dag, Tensor
from tilewright_tensor.expr import Load, Op, Read
from tilewright_tensor.loop_ir import Buffer
from tilewright_tensor.numpy_value import Array, element, value_at

_POINTS = 1 << 21
"""How many points are evaluated at once: reductions over more go on in Python."""


def evaluate(dag: Dag, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """The outputs for the inputs, both logical and in the DAG's order.

    Floats are computed as float64.
    """
    known: dict[str, Array] = {}
    for tensor, array in zip(dag.inputs, arrays, strict=True):
        if array.shape != tensor.shape:
            raise ValueError(f"{tensor.name}: expected shape {tensor.shape}, got {array.shape}")
        known[tensor.name] = widened(array, tensor.dtype)
    for tensor in dag.computes:
        known[tensor.name] = _computed(tensor, known)
    return tuple(known[tensor.name] for tensor in dag.outputs)


def widened(array: Array, dtype: str) -> Array:
    """The array as float64 where the dtype is a float, else in the dtype."""
    return np.asarray(array, _wide(dtype))


def _wide(dtype: str) -> Any:
    return np.float64 if dtype.startswith(("float", "bfloat")) else np.dtype(dtype).type


def _computed(tensor: Tensor, known: Mapping[str, Array]) -> Array:
    def fetch(read: Read | Load, indices: tuple[Any, ...], active: Any) -> Any:
        assert isinstance(read, Read)
        return element(known[read.tensor.name], read.tensor.name, indices, active)

    assert tensor.body is not None
    spatial = prod(tensor.shape)
    looped: list[Axis] = []
    gridded = list(tensor.reduce_axes)
    while gridded and spatial * prod(a.extent for a in gridded) > _POINTS:
        looped.append(gridded.pop(0))
    grid = [*tensor.axes, *gridded]
    points: dict[Var, Any] = {
        axis.var: np.arange(axis.extent).reshape([-1 if d == e else 1 for e in range(len(grid))])
        for d, axis in enumerate(grid)
    }
    shape = tuple(axis.extent for axis in grid)
    result: Any = None
    for values in product(*(range(axis.extent) for axis in looped)):
        points.update(zip((axis.var for axis in looped), values, strict=True))
        part = np.broadcast_to(value_at(tensor.body, points, fetch, _wide), shape)
        if tensor.combiner is not None:
            part = _reduced(tensor.combiner, part, len(tensor.shape))
        result = part if result is None else _combined(tensor.combiner, result, part)
    return np.array(result, _wide(tensor.dtype))


_LEFT, _RIGHT = (Load(Buffer(name, ()), ()) for name in ("left", "right"))
_UFUNCS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _reduced(combiner: Combiner, part: Array, rank: int) -> Array:
    """Combined over all dimensions but the first `rank`."""
    operation = combiner.operation(_LEFT, _RIGHT)
    if (
        isinstance(operation, Op)
        and operation.args == (_LEFT, _RIGHT)
        and operation.name in _UFUNCS
    ):
        reduced: Array = _UFUNCS[operation.name].reduce(part, axis=tuple(range(rank, part.ndim)))
        return reduced
    flat = part.reshape(*part.shape[:rank], -1)
    result = flat[..., 0]
    for position in range(1, flat.shape[-1]):
        result = _combined(combiner, result, flat[..., position])
    return result


def _combined(combiner: Combiner | None, left: Array, right: Array) -> Array:
    assert combiner is not None
    sides = {"left": left, "right": right}

    def fetch(load: Read | Load, _indices: tuple[Any, ...], _active: Any) -> Any:
        assert isinstance(load, Load)
        return sides[load.buffer.name]

    return np.asarray(value_at(combiner.operation(_LEFT, _RIGHT), {}, fetch, _wide))
