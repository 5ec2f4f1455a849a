"""Elements of a tensor at places along an axis, known or computed when the network runs."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tilewright_onnx.node_site import NodeSite


def selected(site: NodeSite, tensor: str, axis: int, places: Sequence[int]) -> str:
    """The tensor at known places along an axis: one slice, or several joined."""
    shape = site.shape(tensor)
    runs = _runs(list(places))
    parts = []
    for run in runs:
        begin, end, steps = [0] * len(shape), list(shape), [1] * len(shape)
        begin[axis], end[axis], steps[axis] = run.start, run.stop, run.step
        parts.append(site.emit("slice", tensor, begin=begin, end=end, strides=steps))
    return parts[0] if len(parts) == 1 else site.emit("concat", *parts, axis=axis)


def _runs(places: list[int]) -> list[range]:
    """The places in order as few ranges, all rising."""
    if len(places) > 1 and len(steps := set(np.diff(places).tolist())) == 1 and min(steps) > 0:
        return [range(places[0], places[-1] + 1, steps.pop())]
    found: list[range] = []
    for place in places:
        if found and found[-1].stop == place:
            found[-1] = range(found[-1].start, place + 1)
        else:
            found.append(range(place, place + 1))
    return found


def gather(site: NodeSite) -> None:
    """Known indexes are slices; computed ones make the product with a matrix of zeros and ones."""
    shape = site.spec(0).shape
    axis = site.attribute("axis", 0) % len(shape)
    extent = shape[axis]
    if not site.is_known(1):
        _gather_computed(site, axis)
        return
    indices = site.value(1)
    if indices.size and not (-extent <= indices.min() <= indices.max() < extent):
        raise site.error(f"Gather of an element outside axis {axis}, which has {extent}")
    result = selected(site, site.tensor(0), axis, (indices.ravel() % extent).tolist())
    site.finish("reshape", result, shape=[*shape[:axis], *indices.shape, *shape[axis + 1 :]])


def _gather_computed(site: NodeSite, axis: int) -> None:
    data, indices = site.spec(0), site.spec(1)
    if "float" not in data.dtype:
        raise site.error(f"Gather of {data.dtype} at computed indexes; expected floats")
    if site.is_known(0) and not np.isfinite(site.value(0)).all():
        raise site.error("Gather at computed indexes of a table with elements that are not finite")
    extent, count = data.shape[axis], prod(indices.shape)
    column = site.reshaped(site.tensor(1), (count, 1))
    numbers, zero, whole = (
        site.constant(np.asarray(values, indices.dtype))
        for values in ([range(extent)], [[0]], [[extent]])
    )
    from_end = site.emit("less", column, zero)
    places = site.emit("where", from_end, site.emit("add", column, whole), column)
    ones = site.emit("cast", site.emit("equal", places, numbers), dtype=data.dtype)
    before, after = data.shape[:axis], data.shape[axis + 1 :]
    shape = (*indices.shape, *before, *after)
    if site.is_known(0):
        table = np.moveaxis(site.value(0), axis, -1).reshape(-1, extent)
        result = site.emit("dense", ones, site.constant(np.ascontiguousarray(table)))
    else:
        order = [axis, *(d for d in range(len(data.shape)) if d != axis)]
        table = site.emit("transpose", site.tensor(0), axes=order)
        result = site.emit("matmul", ones, site.reshaped(table, (extent, prod(before + after))))
    rank, first = len(indices.shape), range(len(indices.shape), len(indices.shape) + axis)
    order = [*first, *range(rank), *range(rank + axis, len(shape))]
    if axis == 0:
        site.finish("reshape", result, shape=list(shape))
    else:
        site.finish("transpose", site.reshaped(result, shape), axes=order)
