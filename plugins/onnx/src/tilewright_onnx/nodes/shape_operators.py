"""ONNX operators that move or select elements, as ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tilewright_onnx.model.node_site import NodeSite
from tilewright_onnx.model.selection import gather, selected, slicing
from tilewright_onnx.nodes.resize import grid_sample, resize


def _to_shape(shape: Callable[[NodeSite], Sequence[int]], site: NodeSite) -> None:
    site.finish("reshape", site.tensor(0), shape=[int(n) for n in shape(site)])


def _reshape_target(site: NodeSite) -> Sequence[int]:
    shape = site.spec(0).shape
    wanted = [int(n) for n in site.value(1)]
    if not site.attribute("allowzero", 0):
        wanted = [shape[d] if n == 0 else n for d, n in enumerate(wanted)]
    if -1 in wanted:
        wanted[wanted.index(-1)] = prod(shape) // -prod(wanted)
    return wanted


def _flatten_target(site: NodeSite) -> Sequence[int]:
    shape = site.spec(0).shape
    axis = site.attribute("axis", 1)
    axis += len(shape) if axis < 0 else 0
    return prod(shape[:axis]), prod(shape[axis:])


def _squeeze_target(site: NodeSite) -> Sequence[int]:
    shape = site.spec(0).shape
    axes = _axes(site, len(shape))
    dropped = axes if axes is not None else {d for d, n in enumerate(shape) if n == 1}
    return [n for d, n in enumerate(shape) if d not in dropped]


def _unsqueeze_target(site: NodeSite) -> Sequence[int]:
    shape = list(site.spec(0).shape)
    count = len(site.value(1)) if site.has(1) else len(site.attribute("axes"))
    axes = _axes(site, len(shape) + count) or set()
    return [1 if d in axes else shape.pop(0) for d in range(len(shape) + count)]


def _axes(site: NodeSite, rank: int) -> set[int] | None:
    """Attribute up to opset 12, operand 1 since."""
    axes = site.value(1) if site.has(1) else site.attribute("axes")
    return None if axes is None else {int(axis) % rank for axis in axes}


def _transpose(site: NodeSite) -> None:
    rank = len(site.spec(0).shape)
    site.finish("transpose", site.tensor(0), axes=site.attribute("perm", list(range(rank))[::-1]))


def _concat(site: NodeSite) -> None:
    """Operands without elements are left out: no tensor of ours is empty."""
    axis = site.attribute("axis", 1)
    operands = [i for i in range(len(site.inputs)) if not site.is_known(i) or site.value(i).size]
    site.finish("concat", *map(site.tensor, operands), axis=axis)


def _pad(site: NodeSite) -> None:
    """Negative margins cut off; margins that repeat the data are made of parts of it."""
    mode = site.attribute("mode", "constant")
    pads = site.attribute("pads") if site.opset < 11 else site.value(1)
    fill = site.attribute("value", 0.0)
    if site.has(2):
        fill = +site.value(2).item()  # 0 or 1 of a bool
    rank = len(site.spec(0).shape)
    if site.has(3):
        pads = _pads_of_axes(pads, [int(axis) % rank for axis in site.value(3)], rank)
    padding, data = [int(n) for n in pads], site.tensor(0)
    for axis, extent in enumerate(site.spec(0).shape):
        before, after = padding[axis], padding[rank + axis]
        kept = range(extent)[max(0, -before) : extent + min(0, after)]
        if not kept:
            raise site.error(f"Pad cuts off the whole of axis {axis}")
        places: Sequence[int] = kept
        if mode != "constant":
            margins = max(0, before), max(0, after)
            places = kept[0] + _repeated(site, len(kept), margins, mode)
        if len(places) != extent or before:
            data = selected(site, data, axis, places)
    left = [max(0, n) if mode == "constant" else 0 for n in padding]
    if mode == "constant" and not np.isfinite(fill):
        _pad_with_no_number(site, data, left, fill)
        return
    site.finish("pad", data, padding=left, value=fill)


def _pad_with_no_number(site: NodeSite, data: str, padding: Sequence[int], fill: float) -> None:
    """An attribute cannot be an infinity or NaN: the margins are chosen by a mask."""
    shape = site.shape(data)
    rank = len(shape)
    padded_shape = (n + b + a for n, b, a in zip(shape, padding, padding[rank:], strict=False))
    site.expect_room(tuple(padded_shape), "bool")
    inside = np.ones(shape, np.bool_)
    mask = np.pad(inside, list(zip(padding[:rank], padding[rank:], strict=True)))
    padded = site.emit("pad", data, padding=list(padding), value=0.0)
    site.finish("where", site.constant(mask), padded, site.scalar(fill, padded))


def _repeated(site: NodeSite, extent: int, margins: tuple[int, int], mode: str) -> Any:
    """The place that each element comes from; places beyond the ends repeat it."""
    before, after = margins
    site.expect_room((extent + before + after,), "int64")
    places = np.arange(-before, extent + after)
    if mode == "edge":
        return places.clip(0, extent - 1)
    if mode == "wrap" or extent == 1:
        return places % extent
    period = 2 * (extent - 1)
    return (extent - 1) - np.abs(places % period - (extent - 1))


def _expand(site: NodeSite) -> None:
    shape = np.broadcast_shapes(site.spec(0).shape, tuple(int(n) for n in site.value(1)))
    site.finish("broadcast_to", site.tensor(0), shape=list(shape))


def _tile(site: NodeSite) -> None:
    """Every axis, each after one for its repeats."""
    shape, repeats = site.spec(0).shape, [int(n) for n in site.value(1)]
    single = [n for extent in shape for n in (1, extent)]
    wide = [n for pair in zip(repeats, shape, strict=True) for n in pair]
    data = site.emit("broadcast_to", site.reshaped(site.tensor(0), tuple(single)), shape=wide)
    tiled = [n * repeat for n, repeat in zip(shape, repeats, strict=True)]
    site.finish("reshape", data, shape=tiled)


def _depth_to_space(site: NodeSite) -> None:
    (n, c, *image), size = site.spec(0).shape, site.attribute("blocksize")
    blocks, filters = [size] * len(image), c // size ** len(image)
    column_row = site.attribute("mode", "DCR") == "CRD"
    shape = [n, filters, *blocks, *image] if column_row else [n, *blocks, filters, *image]
    first = 2 if column_row else 1
    rank = 2 + len(image)
    pairs = [axis for d in range(len(image)) for axis in (rank + d, first + d)]
    axes = [0, 1 if column_row else rank - 1, *pairs]
    data = site.emit("transpose", site.reshaped(site.tensor(0), tuple(shape)), axes=axes)
    site.finish("reshape", data, shape=[n, filters, *(extent * size for extent in image)])


def _space_to_depth(site: NodeSite) -> None:
    (n, c, h, w), size = site.spec(0).shape, site.attribute("blocksize")
    data = site.reshaped(site.tensor(0), (n, c, h // size, size, w // size, size))
    column_row = site.attribute("mode", "DCR") == "CRD"
    data = site.emit(
        "transpose", data, axes=[0, 1, 3, 5, 2, 4] if column_row else [0, 3, 5, 1, 2, 4]
    )
    site.finish("reshape", data, shape=[n, c * size * size, h // size, w // size])


def _pads_of_axes(pads: Sequence[Any], axes: Sequence[int], rank: int) -> list[int]:
    every = [0] * 2 * rank
    for place, axis in enumerate(axes):
        every[axis], every[rank + axis] = int(pads[place]), int(pads[len(axes) + place])
    return every


def _slice(site: NodeSite) -> None:
    """Attributes up to opset 9, operands since."""
    shape = site.spec(0).shape
    if site.opset < 10:
        begins, ends = site.attribute("starts"), site.attribute("ends")
        axes, steps = site.attribute("axes"), None
    else:
        begins, ends = site.value(1), site.value(2)
        axes, steps = (site.value(i) if site.has(i) else None for i in (3, 4))
    axes = range(len(begins)) if axes is None else [int(axis) % len(shape) for axis in axes]
    steps = [1] * len(begins) if steps is None else steps
    cuts: dict[int, slice] = {}
    for axis, begin, end, step in zip(axes, begins, ends, steps, strict=True):
        cuts[axis] = slice(int(begin), int(end), int(step))
    site.finish("slice", site.tensor(0), **slicing(shape, cuts))


def _split(site: NodeSite) -> None:
    """Sizes are an attribute up to opset 12, operand 1 since; without them parts are equal."""
    shape = site.spec(0).shape
    axis = site.attribute("axis", 0) % len(shape)
    sizes = site.value(1) if site.has(1) else site.attribute("split")
    if sizes is None:
        sizes = [-(-shape[axis] // len(site.outputs))] * len(site.outputs)
    elif len(sizes) != len(site.outputs) or sum(sizes) != shape[axis]:
        given = f"{len(site.outputs)} outputs, sizes {[int(size) for size in sizes]}"
        raise site.error(f"Split of an axis of {shape[axis]} into {given}")
    begin, end = [0] * len(shape), list(shape)
    for output, size in zip(site.outputs, sizes, strict=True):
        end[axis] = min(begin[axis] + int(size), shape[axis])
        if output and begin[axis] == end[axis]:
            site.know(output, np.zeros([*shape[:axis], 0, *shape[axis + 1 :]], site.spec(0).dtype))
        elif output:
            site.give(output, "slice", site.tensor(0), begin=list(begin), end=list(end))
        begin[axis] = end[axis]


SHAPE_READERS: Mapping[str, Callable[[NodeSite], None]] = {
    "Concat": _concat,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "Flatten": partial(_to_shape, _flatten_target),
    "Gather": gather,
    "GridSample": grid_sample,
    "Pad": _pad,
    "Reshape": partial(_to_shape, _reshape_target),
    "Resize": resize,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": partial(_to_shape, _squeeze_target),
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": partial(_to_shape, _unsqueeze_target),
    "Upsample": resize,
}
