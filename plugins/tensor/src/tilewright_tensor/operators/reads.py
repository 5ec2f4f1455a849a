"""Finds reads of a definition that leave their tensors."""

from __future__ import annotations

from tilewright_tensor.affine import Bounds
from tilewright_tensor.dag import Tensor
from tilewright_tensor.expr import Op, Read, Value


def read_outside(tensor: Tensor) -> str:
    """What the first read outside its tensor is, as a sentence; empty where none is.

    Reads under a `select` are taken to be guarded by its condition, unless no place lies inside.
    """
    bounds: Bounds = {a.var: (0, a.extent - 1) for a in (*tensor.axes, *tensor.reduce_axes)}
    return _outside(tensor.body, bounds, guarded=False) if tensor.body is not None else ""


def _outside(value: Value, bounds: Bounds, *, guarded: bool) -> str:
    if isinstance(value, Op):
        for place, arg in enumerate(value.args):
            chosen = value.name == "select" and place > 0
            if text := _outside(arg, bounds, guarded=guarded or chosen):
                return text
        return ""
    if not isinstance(value, Read):
        return ""
    for dimension, (index, extent) in enumerate(
        zip(value.indices, value.tensor.shape, strict=True)
    ):
        low, high = index.range(bounds)
        if high < 0 or low >= extent or not (guarded or (low >= 0 and high < extent)):
            return (
                f"{value.tensor.name}[{', '.join(map(str, value.indices))}] reads from {low} "
                f"to {high} of dimension {dimension}, which has extent {extent}"
            )
    return ""
