"""The reference answer of a compute DAG, by numpy, in float64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tilewright_tensor.evaluation.numpy_value import Array, element, value_at
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.dtype import is_float, numpy_type
from tilewright_tensor.expressions.expr import Load, Op, Read
from tilewright_tensor.expressions.tensor import Combiner, Tensor
from tilewright_tensor.ir.dag import Dag

_POINTS = 1 << 21
"""How many points are evaluated at once: longer reductions are cut."""


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
    return np.float64 if is_float(dtype) else numpy_type(dtype).type


def _computed(tensor: Tensor, known: Mapping[str, Array]) -> Array:
    def fetch(read: Read | Load, indices: tuple[Any, ...], active: Any) -> Any:
        assert isinstance(read, Read)
        return element(known[read.tensor.name], read.tensor.name, indices, active)

    assert tensor.body is not None
    axes = (*tensor.axes, *tensor.reduce_axes)
    result: Any = None
    for box in product(*_pieces(tensor)):
        points = dict(zip((axis.var for axis in axes), np.ix_(*box), strict=True))
        shape = tuple(map(len, box))
        part = np.broadcast_to(value_at(tensor.body, points, fetch, _wide), shape)
        if tensor.combiner is not None:
            part = _reduced(tensor.combiner, part, len(tensor.shape))
        result = part if result is None else _combined(tensor.combiner, result, part)
    return np.array(result, _wide(tensor.dtype))


def _pieces(tensor: Tensor) -> list[list[Array]]:
    """By axis, what of it is evaluated at once: the last reduce axes whole, as far as they fit."""
    room = _POINTS // prod(tensor.shape)
    pieces = []
    for axis in reversed(tensor.reduce_axes):
        step = min(axis.extent, max(1, room))
        room //= step
        starts = range(0, axis.extent, step)
        pieces.append([np.arange(start, min(start + step, axis.extent)) for start in starts])
    return [*([np.arange(extent)] for extent in tensor.shape), *reversed(pieces)]


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
    while half := flat.shape[-1] // 2:
        both = _combined(combiner, flat[..., :half], flat[..., half : 2 * half])
        flat = np.concatenate([both, flat[..., 2 * half :]], axis=-1)
    return flat[..., 0]


def _combined(combiner: Combiner | None, left: Array, right: Array) -> Array:
    assert combiner is not None
    sides = {"left": left, "right": right}

    def fetch(load: Read | Load, _indices: tuple[Any, ...], _active: Any) -> Any:
        assert isinstance(load, Load)
        return sides[load.buffer.name]

    return np.asarray(value_at(combiner.operation(_LEFT, _RIGHT), {}, fetch, _wide))
