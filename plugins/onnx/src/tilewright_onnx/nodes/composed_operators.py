"""ONNX operators that are a few of ours, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, prod
from typing import Any

import numpy as np

from tilewright_onnx.model.node_site import NodeSite
from tilewright_onnx.model.tensors import NARROW


def _xor(site: NodeSite) -> None:
    site.finish("logical_not", site.emit("equal", *site.at_one_rank()))


def _is_inf(site: NodeSite) -> None:
    """Of the signs that are looked for."""
    data, found = site.tensor(0), []
    for limit, sign in ((inf, "positive"), (-inf, "negative")):
        if site.attribute(f"detect_{sign}", 1):
            found.append(site.emit("equal", data, site.scalar(limit, data)))
    if len(found) == 2:
        site.finish("logical_or", *found)
    elif found:
        site.finish("identity", *found)
    else:
        site.finish("less", data, data)  # never


def _size(site: NodeSite) -> None:
    site.know(site.outputs[0], np.array(prod(site.spec(0).shape), np.int64))


def _one_hot(site: NodeSite) -> None:
    """An index counts from the end where it is negative; beyond the axis nothing is on."""
    shape, depth = site.spec(0).shape, int(site.value(1).item())
    rank = len(shape) + 1
    axis = site.attribute("axis", -1) % rank
    indices = site.emit("cast", site.tensor(0), dtype="int64")
    column = site.reshaped(indices, (*shape[:axis], 1, *shape[axis:]))
    negative = site.emit("less", column, site.scalar(0, column))
    raised = site.emit("add", column, site.scalar(depth, column))
    found = site.emit("where", negative, raised, column)
    site.expect_room((depth,), "int64")
    places = np.arange(depth).reshape(*[1] * axis, depth, *[1] * (rank - axis - 1))
    values = site.tensor(2)
    off, on = (
        site.reshaped(site.emit("slice", values, begin=[i], end=[i + 1]), (1,) * rank)
        for i in (0, 1)
    )
    site.finish("where", site.emit("equal", found, site.constant(places)), on, off)


def _lp_normalization(site: NodeSite) -> None:
    """A line of zeros stays one. Nothing on the way is rounded to 16 bits."""
    data, dtype, axes = site.tensor(0), site.spec(0).dtype, [site.attribute("axis", -1)]
    if dtype in NARROW:
        data = site.emit("cast", data, dtype="float32")
    if site.attribute("p", 2) == 1:
        norm = site.emit("reduce_sum", site.emit("abs", data), axes=axes)
    else:
        squares = site.emit("reduce_sum", site.emit("multiply", data, data), axes=axes)
        norm = site.emit("sqrt", squares)
    zero, one = site.scalar(0, norm), site.scalar(1, norm)
    operands = data, site.emit("where", site.emit("equal", norm, zero), one, norm)
    if dtype in NARROW:
        site.finish("cast", site.emit("divide", *operands), dtype=dtype)
    else:
        site.finish("divide", *operands)


def _quantize(site: NodeSite) -> None:
    """round(x / scale) + zero point, within the limits of the dtype."""
    if site.attribute("saturate", 1) != 1 or site.attribute("precision", 0):
        raise site.error("QuantizeLinear with saturate or precision, which are not read")
    if site.has(2):
        dtype = site.spec(2).dtype
    else:
        dtype = _dtype(site.attribute("output_dtype", 0)) or "uint8"
    scale = _by_channel(site, 1)
    data = site.emit("cast", site.tensor(0), dtype=site.spec(1).dtype)
    rounded = site.emit("round", site.emit("divide", data, scale))
    if site.has(2):
        zero = site.emit("cast", _by_channel(site, 2), dtype=site.spec(1).dtype)
        rounded = site.emit("add", rounded, zero)
    limits = np.iinfo(dtype)
    within = site.emit("clip", rounded, min=float(limits.min), max=float(limits.max))
    site.finish("cast", within, dtype=dtype)


def _dequantize(site: NodeSite) -> None:
    """(x - zero point) * scale, the difference in 32 bits."""
    data, dtype = site.emit("cast", site.tensor(0), dtype="int32"), site.spec(1).dtype
    if site.has(2):
        zero = site.emit("cast", _by_channel(site, 2), dtype="int32")
        data = site.emit("subtract", data, zero)
    site.finish("multiply", site.emit("cast", data, dtype=dtype), _by_channel(site, 1))


def _by_channel(site: NodeSite, position: int) -> str:
    """A scale or zero point, of all elements or of each place along `axis`, at the data's rank."""
    rank, shape = len(site.spec(0).shape), site.spec(position).shape
    if site.attribute("block_size", 0):
        raise site.error("quantisation by blocks", "quantise by tensor or by channel")
    if prod(shape) == 1:
        return site.reshaped(site.tensor(position), (1,) * rank)
    axis = site.attribute("axis", 1) % rank
    return site.reshaped(site.tensor(position), (*[1] * axis, -1, *[1] * (rank - axis - 1)))


def _dtype(code: int) -> str:
    from onnx import helper

    return str(helper.tensor_dtype_to_np_dtype(code)) if code else ""


def _gather_elements(site: NodeSite) -> None:
    site.finish("take_elements", site.tensor(0), site.tensor(1), axis=site.attribute("axis", 0))


def _gather_nd(site: NodeSite) -> None:
    """Along the first axes as one, at places computed of the last axis of the indices.

    Each of the batch has its own indices, which count from its first place.
    """
    batch = site.attribute("batch_dims", 0)
    shape, places = site.spec(0).shape, site.spec(1).shape
    count = batch + places[-1]
    flat = site.reshaped(site.tensor(0), (prod(shape[:count]), *shape[count:]))
    indices = site.emit("cast", site.tensor(1), dtype="int64")
    total: Any = None
    if batch:
        site.expect_room(shape[:batch], "int64")
        first = np.arange(prod(shape[:batch])) * prod(shape[batch:count])
        total = site.constant(first.reshape(*shape[:batch], *[1] * (len(places) - batch)))
    for axis in range(batch, count):
        begin, end = [0] * len(places), list(places)
        begin[-1], end[-1] = axis - batch, axis - batch + 1
        one = site.emit("slice", indices, begin=begin, end=end)
        negative = site.emit("less", one, site.scalar(0, one))
        raised = site.emit("add", one, site.scalar(shape[axis], one))
        found = site.emit("where", negative, raised, one)
        step = site.scalar(prod(shape[axis + 1 : count]), found)
        part = site.emit("multiply", found, step)
        total = part if total is None else site.emit("add", total, part)
    site.finish("take", flat, site.reshaped(total, places[:-1]), axis=0)


def _top_k(site: NodeSite) -> None:
    """Places, and the elements there; the number is an attribute up to opset 9, operand 1 since."""
    count = site.attribute("k") if site.opset < 10 else int(site.value(1).item())
    axis, data = site.attribute("axis", -1), site.tensor(0)
    attributes = {"count": count, "axis": axis, "largest": bool(site.attribute("largest", 1))}
    if site.outputs[1:] and site.outputs[1]:
        site.give(site.outputs[1], "top_places", data, **attributes)
        places = site.outputs[1]
    else:
        places = site.emit("top_places", data, **attributes)
    if site.outputs[0]:
        site.finish("take_elements", data, places, axis=axis)


def _non_max_suppression(site: NodeSite) -> None:
    """All rows that there can be; those that there are not begin with -1."""
    boxes, scores = site.tensor(0), site.tensor(1)
    most, overlap, threshold = (
        site.value(position).item() if site.has(position) else None for position in (2, 3, 4)
    )
    site.finish(
        "non_max_suppression",
        boxes,
        scores,
        max_boxes=max(0, min(most or 0, site.shape(boxes)[1])),
        iou_threshold=overlap or 0.0,
        score_threshold=threshold,
        centered=bool(site.attribute("center_point_box", 0)),
    )


COMPOSED_READERS: Mapping[str, Callable[[NodeSite], None]] = {
    "DequantizeLinear": _dequantize,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "IsInf": _is_inf,
    "NonMaxSuppression": _non_max_suppression,
    "LpNormalization": _lp_normalization,
    "OneHot": _one_hot,
    "QuantizeLinear": _quantize,
    "Size": _size,
    "TopK": _top_k,
    "Xor": _xor,
}
