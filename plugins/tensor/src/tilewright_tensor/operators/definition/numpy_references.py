"""What the operators give, by numpy in float64, written apart from their compute DAGs.

Each function takes (arrays, attributes) and gives the output. No file of operators but this and
that of element-wise ones imports numpy, so that operators can be listed without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright_tensor.evaluation.numpy_value import converted
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.operators.definition.numpy_elementwise import ELEMENTWISE

if TYPE_CHECKING:
    from tilewright_tensor.layouts.constant_transform import Array
    from tilewright_tensor.operators.definition.attribute import Attributes

_PATCH_ELEMENTS = 1 << 22  # of a convolution's patch matrix at a time: 32 MB of float64


def _windows(
    array: Array, window: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> Array:
    """A view of every window over the last axes: [N, C, OH, OW, KH, KW] of [N, C, H, W]."""
    spans = tuple((extent - 1) * step + 1 for extent, step in zip(window, dilation, strict=True))
    axes = tuple(range(array.ndim - len(window), array.ndim))
    view = np.lib.stride_tricks.sliding_window_view(array, spans, axis=axes)
    steps: tuple[Any, ...] = tuple(slice(None, None, step) for step in (*strides, *dilation))
    return view[(..., *steps)]


def _convolution(arrays: Sequence[Array], attributes: Attributes) -> Array:
    """The weights times a matrix of patches (im2col), some rows of the image at a time."""
    data, weight = arrays
    groups, count = attributes["groups"], len(attributes["strides"])
    margin = zip(attributes["padding"][:count], attributes["padding"][count:], strict=True)
    padded = np.pad(data, [(0, 0), (0, 0), *margin])
    padded = padded.reshape(len(data), groups, -1, *padded.shape[2:])
    view = _windows(padded, weight.shape[2:], attributes["strides"], attributes["dilation"])
    places = view.shape[3 : 3 + count]
    view = np.moveaxis(view, range(3, 3 + count), range(-count, 0))  # [N, G, C/G, KH, KW, OH, OW]
    matrix = weight.reshape(groups, weight.shape[0] // groups, -1)
    result = np.empty((len(data), groups, matrix.shape[1], *places))
    rows = max(1, _PATCH_ELEMENTS // (len(data) * groups * matrix.shape[2] * prod(places[1:])))
    for begin in range(0, places[0], rows):
        part: Any = (..., slice(begin, begin + rows), *[slice(None)] * (count - 1))
        columns = view[part].reshape(len(data), groups, matrix.shape[2], -1)
        result[part] = (matrix @ columns).reshape(result[part].shape)
    return result.reshape(len(data), weight.shape[0], *places)


def _transposed_convolution(arrays: Sequence[Array], attributes: Attributes) -> Array:
    """Each tap adds its products to places a stride apart of the whole result, which is cut."""
    data, weight = arrays
    groups, strides = attributes["groups"], attributes["strides"]
    height, width = data.shape[2:]
    grouped = data.reshape(len(data), groups, -1, height, width)
    filters = weight.reshape(groups, -1, *weight.shape[1:])
    whole = [
        (n - 1) * s + k + more
        for n, s, k, more in zip(
            (height, width), strides, weight.shape[2:], attributes["output_padding"], strict=True
        )
    ]
    result = np.zeros((len(data), weight.shape[0], *whole))
    for y, x in np.ndindex(*weight.shape[2:]):
        product = np.einsum("ngchw,goc->ngohw", grouped, filters[..., y, x])
        rows, columns = (
            slice(at, at + (n - 1) * s + 1, s)
            for at, n, s in zip((y, x), (height, width), strides, strict=True)
        )
        result[:, :, rows, columns] += product.reshape(len(data), -1, height, width)
    top, left, bottom, right = attributes["padding"]
    return result[:, :, top : whole[0] - bottom, left : whole[1] - right]


def _pool_places(extents: Sequence[int], attributes: Attributes) -> list[int]:
    """Windows along each axis, counted one by one; none begins after the data."""
    found = []
    for d, extent in enumerate(extents):
        window, stride = attributes["pool_size"][d], attributes["strides"][d]
        before, after = attributes["padding"][d], attributes["padding"][len(extents) + d]
        starts = range(-before, extent, stride)
        # the last one may stick out if the one before it, or where that would be, ends in the data
        room = stride - 1 if attributes["ceil_mode"] else 0
        found.append(sum(start + window <= extent + after + room for start in starts))
    return found


def _pool_windows(data: Array, attributes: Attributes, fill: float, margin: float) -> Array:
    """Every window [N, C, OH, OW, KH, KW]; `margin` is the padding, `fill` what lies beyond."""
    padding, window = attributes["padding"], attributes["pool_size"]
    places = _pool_places(data.shape[2:], attributes)
    inner = [(0, 0), (0, 0), *((padding[d], padding[2 + d]) for d in range(2))]
    padded = np.pad(data, inner, constant_values=margin)
    spans = [(places[d] - 1) * attributes["strides"][d] + window[d] for d in range(2)]
    outer = [(0, max(0, spans[d] - padded.shape[2 + d])) for d in range(2)]
    padded = np.pad(padded, [(0, 0), (0, 0), *outer], constant_values=fill)
    view = _windows(padded, window, attributes["strides"], [1, 1])
    return view[:, :, : places[0], : places[1]]


def _max_pool2d(arrays: Sequence[Array], attributes: Attributes) -> Array:
    return np.asarray(_pool_windows(arrays[0], attributes, -np.inf, -np.inf).max(axis=(-2, -1)))


def _avg_pool2d(arrays: Sequence[Array], attributes: Attributes) -> Array:
    margin = 0.0 if attributes["count_include_pad"] else np.nan
    means = np.nanmean(_pool_windows(arrays[0], attributes, np.nan, margin), axis=(-2, -1))
    return np.asarray(means)


def _attention(arrays: Sequence[Array], attributes: Attributes) -> Array:
    queries, keys, values, mask = arrays
    scores = queries @ np.swapaxes(keys, -1, -2) * attributes["scale"] + mask
    return _softmax([scores], {"axis": -1}) @ values


def _softmax(arrays: Sequence[Array], attributes: Attributes) -> Array:
    shifted = np.exp(arrays[0] - arrays[0].max(axis=attributes["axis"], keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=attributes["axis"], keepdims=True))


def _batch_norm(arrays: Sequence[Array], attributes: Attributes) -> Array:
    shape = (1, -1, *[1] * (arrays[0].ndim - 2))
    gamma, beta, mean, variance = (array.reshape(shape) for array in arrays[1:])
    return np.asarray(gamma * (arrays[0] - mean) / np.sqrt(variance + attributes["epsilon"]) + beta)


def _layer_norm(arrays: Sequence[Array], attributes: Attributes) -> Array:
    data, axis = arrays[0], attributes["axis"]
    shape = [n if d == axis % data.ndim else 1 for d, n in enumerate(data.shape)]
    gamma, beta = (array.reshape(shape) for array in arrays[1:])
    centred = data - data.mean(axis=axis, keepdims=True)
    scale = np.sqrt(data.var(axis=axis, keepdims=True) + attributes["epsilon"])
    return np.asarray(centred / scale * gamma + beta)


def _lrn(arrays: Sequence[Array], attributes: Attributes) -> Array:
    size, squares = attributes["size"], arrays[0] ** 2
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    padded = np.pad(squares, [(0, 0), (before, after), *[(0, 0)] * (squares.ndim - 2)])
    totals = sum(padded[:, i : i + squares.shape[1]] for i in range(size))
    scale = attributes["bias"] + attributes["alpha"] / size * totals
    return np.asarray(arrays[0] / scale ** attributes["beta"])


def _reduce(function: Callable[..., Any]) -> Callable[[Sequence[Array], Attributes], Array]:
    def reference(arrays: Sequence[Array], attributes: Attributes) -> Array:
        axes = tuple(attributes["axes"]) or None
        return np.asarray(function(arrays[0], axis=axes, keepdims=attributes["keepdims"]))

    return reference


def _pad(arrays: Sequence[Array], attributes: Attributes) -> Array:
    rank, padding = arrays[0].ndim, attributes["padding"]
    pairs = list(zip(padding[:rank], padding[rank:], strict=True))
    return np.pad(arrays[0], pairs, constant_values=attributes["value"])


def _reshape(arrays: Sequence[Array], attributes: Attributes) -> Array:
    wanted = [arrays[0].shape[d] if n == 0 else n for d, n in enumerate(attributes["shape"])]
    return arrays[0].reshape(wanted)


def _flatten(arrays: Sequence[Array], attributes: Attributes) -> Array:
    return arrays[0].reshape(prod(arrays[0].shape[: attributes["axis"]]), -1)


def _places(found: Array, extent: int) -> Array:
    """Those below 0 from the end, then the nearest there is; a uint64 need not be an int64."""
    if found.dtype.kind == "u":
        return np.minimum(found, extent - 1).astype(np.int64)
    places = found.astype(np.int64)
    return np.where(places < 0, places + extent, places).clip(0, extent - 1)


def _take(arrays: Sequence[Array], attributes: Attributes) -> Array:
    data, axis = arrays[0], attributes["axis"]
    return np.take(data, _places(arrays[1], data.shape[axis]), axis=axis)


def _take_elements(arrays: Sequence[Array], attributes: Attributes) -> Array:
    data, axis = arrays[0], attributes["axis"]
    places = _places(arrays[1], data.shape[axis])
    grid = list(np.indices(places.shape))
    grid[axis] = places
    return np.asarray(data[tuple(grid)])


def _top_places(arrays: Sequence[Array], attributes: Attributes) -> Array:
    """By a stable sort of the lines as they are, or from their ends."""
    data, axis = arrays[0], attributes["axis"]
    if data.dtype.kind == "f":
        data = np.where(np.isnan(data), np.inf if attributes["largest"] else -np.inf, data)
    lines = np.flip(data, axis) if attributes["largest"] else data
    order = np.argsort(lines, axis, kind="stable")
    if attributes["largest"]:
        order = data.shape[axis] - 1 - np.flip(order, axis)
    return np.asarray(order.take(range(attributes["count"]), axis))


def _suppression(arrays: Sequence[Array], attributes: Attributes) -> Array:
    """By a stable sort, in float32, as kernels do: one rounding more may strike another box out."""
    boxes, scores = (array.astype(np.float32) for array in arrays)
    threshold, most = attributes["score_threshold"], attributes["max_boxes"]
    if attributes["centered"]:
        half = boxes[..., 2:] / np.float32(2)
        low, high = boxes[..., :2] - half, boxes[..., :2] + half
    else:
        low = np.minimum(boxes[..., :2], boxes[..., 2:])
        high = np.maximum(boxes[..., :2], boxes[..., 2:])
    found: list[tuple[int, int, int]] = []
    for image, kind in np.ndindex(*scores.shape[:2]):
        score = scores[image, kind]
        order = np.argsort(-score, kind="stable")
        order = order[score[order] > np.float32(-np.inf if threshold is None else threshold)]
        first, last = low[image], high[image]
        area = np.prod(last - first, axis=-1)
        for _ in range(most):
            if not order.size:
                break
            best, order = order[0], order[1:]
            found.append((image, kind, best))
            width = np.minimum(last[order], last[best]) - np.maximum(first[order], first[best])
            shared = np.prod(np.maximum(width, 0), axis=-1)
            with np.errstate(all="ignore"):
                overlap = shared / (area[order] + area[best] - shared)
            order = order[~(overlap > np.float32(attributes["iou_threshold"]))]
    rows = np.full((scores.shape[0] * scores.shape[1] * min(most, scores.shape[2]), 3), -1)
    rows[: len(found)] = np.reshape(found, (-1, 3))
    return rows


def _slice(arrays: Sequence[Array], attributes: Attributes) -> Array:
    steps = attributes["strides"] or [1] * arrays[0].ndim
    cuts = zip(attributes["begin"], attributes["end"], steps, strict=True)
    return arrays[0][tuple(slice(*cut) for cut in cuts)]


def _resize(arrays: Sequence[Array], attributes: Attributes) -> Array:
    """Axis by axis, of one, two or four lines each."""
    data = arrays[0]
    for axis, size in enumerate(attributes["shape"]):
        extent, places = data.shape[axis], np.arange(size)
        if attributes["coordinates"] == "half_pixel":
            source = (places + 0.5) * extent / size - 0.5
        elif attributes["coordinates"] == "align_corners":
            source = places * (extent - 1) / max(size - 1, 1)
        else:
            source = places * extent / size
        if attributes["mode"] == "nearest":
            nearest = _ROUNDINGS[attributes["rounding"]](source)
            data = data.take(nearest.astype(int).clip(0, extent - 1), axis)
            continue
        low = np.floor(source + 1e-9).astype(int)
        share = (source - low).reshape(-1, *[1] * (data.ndim - axis - 1))
        if attributes["mode"] == "cubic":
            steps = range(-1, 3)
            lines = (data.take((low + step).clip(0, extent - 1), axis) for step in steps)
            weights = (_keys(np.abs(share - step), attributes["bend"]) for step in steps)
            data = np.asarray(sum(map(np.multiply, lines, weights)))
            continue
        lower, upper = (data.take(at.clip(0, extent - 1), axis) for at in (low, low + 1))
        data = lower * (1 - share) + upper * share
    return data


def _keys(distance: Array, bend: float) -> Array:
    """The weight of an element so far away; Keys, 1981."""
    near = (bend + 2) * distance**3 - (bend + 3) * distance**2 + 1
    far = bend * (distance**3 - 5 * distance**2 + 8 * distance - 4)
    return np.where(distance <= 1, near, far)


_ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "floor": lambda x: np.floor(x + 1e-9),
    "ceil": lambda x: np.ceil(x - 1e-9),
    "round_prefer_floor": lambda x: np.ceil(x - 0.5 - 1e-9),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5 + 1e-9),
}
"""Of quotients that rounding has moved a little."""


def _place_of(function: Any) -> Callable[[Sequence[Array], Attributes], Array]:
    """The last place is counted from the end of the reversed line."""

    def place(arrays: Sequence[Array], attributes: Attributes) -> Array:
        (data,), axis, last = arrays, attributes["axis"], attributes["last"]
        found = function(
            np.flip(data, axis) if last else data, axis, keepdims=attributes["keepdims"]
        )
        return np.asarray(data.shape[axis] - 1 - found if last else found)

    return place


def _elementwise(function: Callable[..., Any]) -> Callable[[Sequence[Array], Attributes], Array]:
    return lambda arrays, attributes: function(*arrays, **attributes)


def _layout_transform(arrays: Sequence[Array], attributes: Attributes) -> Array:
    """Rounded as the elements are stored, on either side."""
    values = arrays[0]
    for side in ("src", "dst"):
        stored = Layout.parse(attributes[side]).dtype
        values = converted(values, stored) if stored else values
    return values.astype(arrays[0].dtype)


REFERENCES: Mapping[str, Callable[[Sequence[Array], Attributes], Array]] = {
    "conv1d": _convolution,
    "conv2d": _convolution,
    "conv3d": _convolution,
    "conv2d_transpose": _transposed_convolution,
    "dense": lambda arrays, _attributes: arrays[0] @ arrays[1].T,
    "matmul": lambda arrays, _attributes: arrays[0] @ arrays[1],
    "matmul_integer": lambda arrays, _attributes: (
        arrays[0].astype(np.int32) @ arrays[1].astype(np.int32)
    ),
    "max_pool2d": _max_pool2d,
    "avg_pool2d": _avg_pool2d,
    "global_avg_pool2d": lambda arrays, _attributes: arrays[0].mean(axis=(2, 3), keepdims=True),
    "softmax": _softmax,
    "attention": _attention,
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "lrn": _lrn,
    "reduce_sum": _reduce(np.sum),
    "reduce_mean": _reduce(np.mean),
    "reduce_max": _reduce(np.max),
    "reduce_min": _reduce(np.min),
    "reduce_prod": _reduce(np.prod),
    "arg_max": _place_of(np.argmax),
    "arg_min": _place_of(np.argmin),
    "concat": lambda arrays, attributes: np.concatenate(arrays, axis=attributes["axis"]),
    "reshape": _reshape,
    "flatten": _flatten,
    "transpose": lambda arrays, attributes: arrays[0].transpose(attributes["axes"] or None),
    "broadcast_to": lambda arrays, attributes: np.broadcast_to(arrays[0], attributes["shape"]),
    "pad": _pad,
    "resize": _resize,
    "slice": _slice,
    "take": _take,
    "take_elements": _take_elements,
    "top_places": _top_places,
    "non_max_suppression": _suppression,
    "layout_transform": _layout_transform,
    "cast": lambda arrays, attributes: converted(arrays[0], attributes["dtype"]),
    **{name: _elementwise(function) for name, function in ELEMENTWISE.items()},
}
