"""ONNX layers as ours: convolutions, matrix products, poolings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tilewright_onnx.model.node_site import NodeSite


def _conv(site: NodeSite) -> None:
    data, weight = site.spec(0), site.spec(1)
    spatial = len(data.shape) - 2
    if spatial not in (1, 2, 3):
        raise site.error(f"Conv over {spatial} spatial axes; expected 1 to 3")
    kernel = weight.shape[2:]
    strides = site.attribute("strides", [1] * spatial)
    dilation = site.attribute("dilations", [1] * spatial)
    attributes = {
        "strides": strides,
        "padding": _margins(site, data.shape[2:], kernel, strides, dilation),
        "dilation": dilation,
        "groups": site.attribute("group", 1),
    }
    operands = site.tensor(0), site.tensor(1)
    if not site.has(2):
        site.finish(f"conv{spatial}d", *operands, **attributes)
        return
    bias = site.reshaped(site.tensor(2), (1, -1, *[1] * spatial))
    site.finish("add", site.emit(f"conv{spatial}d", *operands, **attributes), bias)


def _margins(
    site: NodeSite,
    image: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
) -> list[int]:
    """All begins, then all ends, from `pads` or `auto_pad`."""
    auto = site.attribute("auto_pad", "NOTSET")
    if auto == "NOTSET":
        return list(site.attribute("pads", [0] * 2 * len(kernel)))
    if auto == "VALID":
        return [0] * 2 * len(kernel)
    begins, ends = [], []
    for extent, window, stride, step in zip(image, kernel, strides, dilation, strict=True):
        total = max(0, (-(-extent // stride) - 1) * stride + (window - 1) * step + 1 - extent)
        small, large = total // 2, total - total // 2
        begins.append(large if auto == "SAME_LOWER" else small)
        ends.append(small if auto == "SAME_LOWER" else large)
    return begins + ends


def _conv_transpose(site: NodeSite) -> None:
    """The operator where an image grows, else a convolution of which strides are channels."""
    strides = site.attribute("strides", [1] * (len(site.spec(0).shape) - 2))
    if len(strides) == 2 and prod(strides) > 1:
        _conv2d_transpose(site, strides)
    else:
        _conv_of_residues(site, strides)


def _conv2d_transpose(site: NodeSite, strides: Sequence[int]) -> None:
    """Filters of a dilation have zeros between them; what is cut off may be less than nothing."""
    shape, groups = site.spec(0).shape, site.attribute("group", 1)
    weight = _spread(site, site.value(1), site.attribute("dilations", [1, 1]), [1, 1])
    sizes, begins = _transposed_extents(site, shape[2:], strides)
    ends = [
        (n - 1) * s + k - b - size
        for n, s, k, b, size in zip(
            shape[2:], strides, weight.shape[2:], begins, sizes, strict=True
        )
    ]
    attributes = {
        "strides": strides,
        "padding": [*begins, *(max(0, end) for end in ends)],
        "output_padding": [max(0, -end) for end in ends],
        "groups": groups,
    }
    filters = _phase_filters(weight, groups, weight.shape[2:], [1, 1])[..., ::-1, ::-1]
    operands = site.tensor(0), site.constant(np.ascontiguousarray(filters))
    if not site.has(2):
        site.finish("conv2d_transpose", *operands, **attributes)
        return
    bias = site.reshaped(site.tensor(2), (1, -1, 1, 1))
    site.finish("add", site.emit("conv2d_transpose", *operands, **attributes), bias)


def _conv_of_residues(site: NodeSite, strides: Sequence[int]) -> None:
    """A convolution that makes all places between two strides as channels, then puts them in order.

    With strides s, place s*q + r of the whole result is the sum over j of data[q - j] times
    weight[s*j + r]: the residues r are filters of their own, and no product is with a zero.
    """
    shape, weight = site.spec(0).shape, site.value(1)
    spatial = len(shape) - 2
    groups = site.attribute("group", 1)
    weight = _spread(site, weight, site.attribute("dilations", [1] * spatial), strides)
    sizes, begins = _transposed_extents(site, shape[2:], strides)
    taps = [n // s for n, s in zip(weight.shape[2:], strides, strict=True)]
    first = [min(b // s, n - 1) for b, s, n in zip(begins, strides, taps, strict=True)]
    last = [(b + n - 1) // s for b, n, s in zip(begins, sizes, strides, strict=True)]
    padding = [n - 1 - q for n, q in zip(taps, first, strict=True)]
    padding += [max(0, q - n + 1) for q, n in zip(last, shape[2:], strict=True)]
    filters = _phase_filters(weight, groups, taps, strides)
    attributes = {"padding": padding, "groups": groups}
    result = site.emit(f"conv{spatial}d", site.tensor(0), site.constant(filters), **attributes)
    if site.has(2):
        bias = np.repeat(site.value(2), prod(strides)).reshape(1, -1, *[1] * spatial)
        result = site.emit("add", result, site.constant(bias))
    result = _interleaved(site, result, strides)
    begin = [0, 0, *(b - q * s for b, q, s in zip(begins, first, strides, strict=True))]
    end = [shape[0], filters.shape[0] // prod(strides)]
    end += [b + n for b, n in zip(begin[2:], sizes, strict=True)]
    site.finish("slice", result, begin=begin, end=end)


def _spread(site: NodeSite, weight: Any, dilation: Sequence[int], strides: Sequence[int]) -> Any:
    """The weights with zeros between them for a dilation, and after them up to whole strides."""
    spans = [(n - 1) * d + 1 for n, d in zip(weight.shape[2:], dilation, strict=True)]
    whole = [-(-n // s) * s for n, s in zip(spans, strides, strict=True)]
    site.expect_room((*weight.shape[:2], *whole), str(weight.dtype))
    spread = np.zeros((*weight.shape[:2], *whole), weight.dtype)
    places = (slice(0, n, d) for n, d in zip(spans, dilation, strict=True))
    spread[(slice(None), slice(None), *places)] = weight
    return spread


def _transposed_extents(
    site: NodeSite, image: Sequence[int], strides: Sequence[int]
) -> tuple[list[int], list[int]]:
    """(extents of the result, what is cut off before it) along each axis."""
    count, kernel = len(image), site.value(1).shape[2:]
    dilation = site.attribute("dilations", [1] * count)
    more = site.attribute("output_padding", [0] * count)
    auto = site.attribute("auto_pad", "NOTSET")
    wanted = site.attribute("output_shape")
    whole = [
        (n - 1) * s + (k - 1) * d + 1 + m
        for n, s, k, d, m in zip(image, strides, kernel, dilation, more, strict=True)
    ]
    if wanted is None and auto.startswith("SAME"):
        wanted = [n * s for n, s in zip(image, strides, strict=True)]
    if wanted is None:
        pads = site.attribute("pads") if auto == "NOTSET" else None
        pads = pads or [0] * 2 * count
        sizes = [n - b - e for n, b, e in zip(whole, pads[:count], pads[count:], strict=True)]
        return sizes, list(pads[:count])
    totals = [max(0, n - w) for n, w in zip(whole, wanted, strict=True)]
    halves = [t // 2 if auto == "SAME_UPPER" else t - t // 2 for t in totals]
    return list(wanted[-count:]), halves


def _phase_filters(weight: Any, groups: int, taps: Sequence[int], strides: Sequence[int]) -> Any:
    """[O * residues, C/G, taps ...], taps reversed, of [C, O/G, taps * strides ...]."""
    inputs, outputs = weight.shape[0] // groups, weight.shape[1]
    pairs = [n for pair in zip(taps, strides, strict=True) for n in pair]
    parts = weight.reshape(groups, inputs, outputs, *pairs)
    axes = range(len(taps))
    residues, places = [4 + 2 * d for d in axes], [3 + 2 * d for d in axes]
    parts = parts.transpose(0, 2, *residues, 1, *places)
    parts = parts[(..., *[slice(None, None, -1)] * len(taps))]
    return np.ascontiguousarray(parts.reshape(-1, inputs, *taps))


def _interleaved(site: NodeSite, tensor: str, strides: Sequence[int]) -> str:
    """[N, O * residues, Q ...] as [N, O, Q * strides ...]."""
    if prod(strides) == 1:
        return tensor
    count, (images, channels, *extents) = len(strides), site.shape(tensor)
    shape = (images, channels // prod(strides), *strides, *extents)
    axes = [0, 1, *(axis for d in range(count) for axis in (2 + count + d, 2 + d))]
    ordered = site.emit("transpose", site.reshaped(tensor, shape), axes=axes)
    joined = (n * s for n, s in zip(extents, strides, strict=True))
    return site.reshaped(ordered, (*shape[:2], *joined))


def _gemm(site: NodeSite) -> None:
    data, weight = site.tensor(0), site.tensor(1)
    if site.attribute("transA", 0):
        data = site.emit("transpose", data, axes=[1, 0])
    if not site.attribute("transB", 0):
        weight = _transposed(site, 1)
    alpha, beta = site.attribute("alpha", 1.0), site.attribute("beta", 1.0)
    steps: list[tuple[str, str]] = []
    if alpha != 1.0:
        steps.append(("multiply", site.scalar(alpha, data)))
    if site.has(2) and beta != 0.0:
        bias = site.at_rank(site.tensor(2), 2)
        if beta != 1.0:
            bias = site.emit("multiply", bias, site.scalar(beta, bias))
        steps.append(("add", bias))
    _chain(site, "dense", (data, weight), steps)


def _chain(
    site: NodeSite, operator: str, operands: tuple[str, ...], steps: Sequence[tuple[str, str]]
) -> None:
    """The operator, then element-wise steps (operator, operand); the last of all is the result."""
    for following, operand in steps:
        operator, operands = following, (site.emit(operator, *operands), operand)
    site.finish(operator, *operands)


def _transposed(site: NodeSite, position: int) -> str:
    name = site.inputs[position]
    if site.is_known(position):
        return site.constant(np.ascontiguousarray(site.value(position).T))
    return site.emit("transpose", name, axes=[1, 0])


def _matmul(site: NodeSite) -> None:
    """A layer with known weights is a dense one; a vector is a row, or at the right a column."""
    a, b = site.spec(0).shape, site.spec(1).shape
    if site.is_known(1) and len(a) == 2 == len(b):
        site.finish("dense", site.tensor(0), _transposed(site, 1))
    elif min(len(a), len(b)) > 1:
        site.finish("matmul", site.tensor(0), site.tensor(1))
    else:
        column = site.reshaped(site.tensor(1), (*b, 1)) if len(b) == 1 else site.tensor(1)
        product = site.emit("matmul", site.at_rank(site.tensor(0), max(len(a), 2)), column)
        batch = a[:-2] if len(b) == 1 else b[:-2]
        site.finish("reshape", product, shape=[*batch, *a[-2:-1], *(b[-1:] if len(b) > 1 else ())])


def _matmul_integer(site: NodeSite) -> None:
    """With zero points, the operands less them are multiplied as int32."""
    zeros = [
        site.has(place) and not (site.is_known(place) and not site.value(place).any())
        for place in (2, 3)
    ]
    if not any(zeros):
        site.finish("matmul_integer", site.tensor(0), site.tensor(1))
        return
    operands = []
    for position, zero in enumerate(zeros):
        wide = site.emit("cast", site.tensor(position), dtype="int32")
        if zero:
            point = site.emit("cast", site.tensor(2 + position), dtype="int32")
            shape = site.shape(point)
            if position == 0 and len(shape) == 1:  # one of each row
                point = site.reshaped(point, (*shape, 1))
            wide = site.emit("subtract", wide, site.at_rank(point, len(site.shape(wide))))
        operands.append(wide)
    site.finish("matmul", *operands)


def _pool(operator: str, site: NodeSite) -> None:
    """Pooling is by axis: a line is an image of one row, a volume is pooled flat, then in depth."""
    shape = site.spec(0).shape
    spatial = len(shape) - 2
    if spatial not in (1, 2, 3):
        raise site.error(f"pooling over {spatial} spatial axes; expected 1 to 3")
    kernel = site.attribute("kernel_shape")
    strides = site.attribute("strides", [1] * spatial)
    dilation = site.attribute("dilations", [1] * spatial)
    if any(step != 1 for step in dilation):
        raise site.error(f"pooling with dilations {dilation}; expected 1")
    padding = _margins(site, shape[2:], kernel, strides, dilation)
    attributes = {"ceil_mode": bool(site.attribute("ceil_mode", 0))}
    if operator == "avg_pool2d":
        attributes["count_include_pad"] = bool(site.attribute("count_include_pad", 0))

    def along(axes: Sequence[int]) -> dict[str, Any]:
        """Attributes of a pooling along two axes, -1 for one that is not pooled."""
        return {
            "pool_size": [1 if axis < 0 else kernel[axis] for axis in axes],
            "strides": [1 if axis < 0 else strides[axis] for axis in axes],
            "padding": [
                0 if axis < 0 else padding[axis + end] for end in (0, spatial) for axis in axes
            ],
            **attributes,
        }

    data = site.tensor(0)
    if spatial == 2:
        site.finish(operator, data, **along([0, 1]))
    elif spatial == 1:
        row = site.reshaped(data, (*shape[:2], 1, shape[2]))
        pooled = site.emit(operator, row, **along([-1, 0]))
        site.finish("reshape", pooled, shape=[*shape[:2], site.shape(pooled)[3]])
    else:
        flat = site.reshaped(data, (shape[0], shape[1] * shape[2], *shape[3:]))
        flat = site.emit(operator, flat, **along([1, 2]))
        image = site.shape(flat)[2:]
        deep = site.reshaped(flat, (*shape[:3], prod(image)))
        deep = site.emit(operator, deep, **along([0, -1]))
        site.finish("reshape", deep, shape=[*site.shape(deep)[:3], *image])


def _global_pool(operator: str, site: NodeSite) -> None:
    axes = list(range(2, len(site.spec(0).shape)))
    if operator == "reduce_mean" and len(axes) == 2:
        site.finish("global_avg_pool2d", site.tensor(0))
    else:
        site.finish(operator, site.tensor(0), axes=axes, keepdims=True)


LAYER_READERS: Mapping[str, Callable[[NodeSite], None]] = {
    "AveragePool": partial(_pool, "avg_pool2d"),
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Gemm": _gemm,
    "GlobalAveragePool": partial(_global_pool, "reduce_mean"),
    "GlobalMaxPool": partial(_global_pool, "reduce_max"),
    "MatMul": _matmul,
    "MatMulInteger": _matmul_integer,
    "MaxPool": partial(_pool, "max_pool2d"),
}
