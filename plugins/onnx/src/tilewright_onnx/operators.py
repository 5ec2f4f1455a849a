"""ONNX operators as ours: one small function each, found by name in `READERS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod

import numpy as np

from tilewright_onnx.node_site import NodeSite
from tilewright_onnx.shape_operators import SHAPE_READERS

ReadNode = Callable[[NodeSite], None]


def _same(operator: str, site: NodeSite) -> None:
    """Same operands, no attributes."""
    site.finish(operator, *(site.tensor(i) for i in range(len(site.inputs))))


def _dropout(site: NodeSite) -> None:
    if site.has(2) and site.value(2):
        raise site.error("Dropout in training mode", "export the model for inference")
    site.finish("identity", site.tensor(0))


def _with_attributes(operator: str, names: Mapping[str, float], site: NodeSite) -> None:
    """One operand; attributes of equal names with ONNX's defaults."""
    given = {name: site.attribute(name, default) for name, default in names.items()}
    site.finish(operator, site.tensor(0), **given)


def _broadcasting(operator: str, site: NodeSite) -> None:
    """Two operands, numpy's broadcasting: ranks are made equal."""
    site.finish(operator, *_at_one_rank(site))


def _folded(operator: str, site: NodeSite) -> None:
    """Any number of operands, from the left two at a time."""
    first, *others = _at_one_rank(site)
    for other in others[:-1]:
        first = site.emit(operator, first, other)
    if others:
        site.finish(operator, first, others[-1])
    else:
        site.finish("identity", first)


def _mean(site: NodeSite) -> None:
    """The mean of any number of operands, element by element."""
    first, *others = _at_one_rank(site)
    for other in others:
        first = site.emit("add", first, other)
    site.finish("multiply", first, site.scalar(1 / len(site.inputs), first))


def _at_one_rank(site: NodeSite) -> list[str]:
    count = len(site.inputs)
    rank = max(len(site.spec(i).shape) for i in range(count))
    return [site.at_rank(site.tensor(i), rank) for i in range(count)]


def _reciprocal(site: NodeSite) -> None:
    site.finish("divide", site.scalar(1.0, site.tensor(0)), site.tensor(0))


def _cast(site: NodeSite) -> None:
    from onnx import helper

    dtype = helper.tensor_dtype_to_np_dtype(site.attribute("to"))
    site.finish("cast", site.tensor(0), dtype=str(dtype))


def _gelu(site: NodeSite) -> None:
    approximate = site.attribute("approximate", "none")
    if approximate != "none":
        raise site.error(f"Gelu with approximate {approximate!r}; expected 'none'")
    site.finish("gelu", site.tensor(0))


def _reduce(operator: str, site: NodeSite) -> None:
    """Axes as an attribute or, in later opsets, an operand; without them all axes, or none."""
    given = site.value(1) if site.has(1) else site.attribute("axes", ())
    axes = [int(axis) for axis in given]
    if not axes and site.attribute("noop_with_empty_axes", 0):
        site.finish("identity", site.tensor(0))
        return
    keepdims = bool(site.attribute("keepdims", 1))
    site.finish(operator, site.tensor(0), axes=axes, keepdims=keepdims)


def _global_max(site: NodeSite) -> None:
    axes = list(range(2, len(site.spec(0).shape)))
    site.finish("reduce_max", site.tensor(0), axes=axes, keepdims=True)


# --- layers ---------------------------------------------------------------------------------------


def _conv(site: NodeSite) -> None:
    data, weight = site.spec(0), site.spec(1)
    spatial = len(data.shape) - 2
    if spatial not in (1, 2):
        raise site.error(f"Conv over {spatial} spatial axes; expected 1 or 2")
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


def _batch_norm(site: NodeSite) -> None:
    if site.attribute("training_mode", 0):
        raise site.error("BatchNormalization in training mode", "export the model for inference")
    site.finish(
        "batch_norm", *(site.tensor(i) for i in range(5)), epsilon=site.attribute("epsilon", 1e-5)
    )


def _lrn(site: NodeSite) -> None:
    site.finish(
        "lrn",
        site.tensor(0),
        size=site.attribute("size"),
        alpha=site.attribute("alpha", 1e-4),
        beta=site.attribute("beta", 0.75),
        bias=site.attribute("bias", 1.0),
    )


def _layer_norm(site: NodeSite) -> None:
    rank, axis = len(site.spec(0).shape), site.attribute("axis", -1)
    if axis not in (-1, rank - 1):
        raise site.error(f"LayerNormalization from axis {axis} on; expected the last axis only")
    scale = site.tensor(1)
    shift = site.tensor(2) if site.has(2) else site.constant(np.zeros_like(site.value(1)))
    epsilon = site.attribute("epsilon", 1e-5)
    site.finish("layer_norm", site.tensor(0), scale, shift, axis=-1, epsilon=epsilon)


def _instance_norm(site: NodeSite) -> None:
    """Every channel of every image is a row of its own; scale and shift follow by channel."""
    shape = site.spec(0).shape
    size = prod(shape[2:])
    ones, zeros = (np.full(size, value, site.spec(0).dtype) for value in (1, 0))
    rows = site.reshaped(site.tensor(0), (prod(shape[:2]), size))
    normal = site.emit(
        "layer_norm",
        rows,
        site.constant(ones),
        site.constant(zeros),
        axis=-1,
        epsilon=site.attribute("epsilon", 1e-5),
    )
    scale, shift = (site.reshaped(site.tensor(i), (1, -1, *[1] * len(shape[2:]))) for i in (1, 2))
    scaled = site.emit("multiply", site.reshaped(normal, shape), scale)
    site.finish("add", scaled, shift)


def _pool(operator: str, site: NodeSite) -> None:
    shape = site.spec(0).shape
    spatial = len(shape) - 2
    if spatial != 2:
        raise site.error(f"pooling over {spatial} spatial axes; expected 2")
    kernel = site.attribute("kernel_shape")
    strides = site.attribute("strides", [1] * spatial)
    dilation = site.attribute("dilations", [1] * spatial)
    if any(step != 1 for step in dilation):
        raise site.error(f"pooling with dilations {dilation}; expected 1")
    attributes = {
        "pool_size": kernel,
        "strides": strides,
        "padding": _margins(site, shape[2:], kernel, strides, dilation),
        "ceil_mode": bool(site.attribute("ceil_mode", 0)),
    }
    if operator == "avg_pool2d":
        attributes["count_include_pad"] = bool(site.attribute("count_include_pad", 0))
    site.finish(operator, site.tensor(0), **attributes)


def _softmax(site: NodeSite) -> None:
    data, axis, shape = _along_one_axis(site)
    if shape is None:
        site.finish("softmax", data, axis=axis)
    else:
        site.finish("reshape", site.emit("softmax", data, axis=axis), shape=shape)


def _log_softmax(site: NodeSite) -> None:
    """Logarithms of a sum, not of a softmax, which may be 0."""
    data, axis, shape = _along_one_axis(site)
    over = {"axes": [axis], "keepdims": True}
    centred = site.emit("subtract", data, site.emit("reduce_max", data, **over))
    total = site.emit("log", site.emit("reduce_sum", site.emit("exp", centred), **over))
    if shape is None:
        site.finish("subtract", centred, total)
    else:
        site.finish("reshape", site.emit("subtract", centred, total), shape=shape)


def _along_one_axis(site: NodeSite) -> tuple[str, int, list[int] | None]:
    """(operand, axis, shape of the result where it is another than the operand's).

    Up to opset 12 the axes from `axis` on are one; since, only `axis` is summed over.
    """
    shape = site.spec(0).shape
    axis = site.attribute("axis", 1 if site.opset < 13 else -1) % len(shape)
    wide = [d for d in range(axis, len(shape)) if shape[d] > 1]
    if site.opset >= 13 or len(wide) <= 1:
        return site.tensor(0), wide[0] if site.opset < 13 and wide else axis, None
    flat = site.reshaped(site.tensor(0), (prod(shape[:axis]), prod(shape[axis:])))
    return flat, 1, list(shape)


def _clip(site: NodeSite) -> None:
    if site.opset < 11:
        limits = {"min": site.attribute("min"), "max": site.attribute("max")}
    else:
        limits = {name: site.value(i).item() for i, name in ((1, "min"), (2, "max")) if site.has(i)}
    site.finish("clip", site.tensor(0), **limits)


READERS: Mapping[str, ReadNode] = {
    "Abs": partial(_same, "abs"),
    "Add": partial(_broadcasting, "add"),
    "AveragePool": partial(_pool, "avg_pool2d"),
    "BatchNormalization": _batch_norm,
    "Cast": _cast,
    "Clip": _clip,
    "Conv": _conv,
    "Div": partial(_broadcasting, "divide"),
    "Dropout": _dropout,
    "Elu": partial(_with_attributes, "elu", {"alpha": 1.0}),
    "Erf": partial(_same, "erf"),
    "Exp": partial(_same, "exp"),
    "Gelu": _gelu,
    "Gemm": _gemm,
    "GlobalAveragePool": partial(_same, "global_avg_pool2d"),
    "GlobalMaxPool": _global_max,
    "HardSigmoid": partial(_with_attributes, "hard_sigmoid", {"alpha": 0.2, "beta": 0.5}),
    "HardSwish": partial(_same, "hard_swish"),
    "Identity": partial(_same, "identity"),
    "InstanceNormalization": _instance_norm,
    "LRN": _lrn,
    "LayerNormalization": _layer_norm,
    "LeakyRelu": partial(_with_attributes, "leaky_relu", {"alpha": 0.01}),
    "Log": partial(_same, "log"),
    "LogSoftmax": _log_softmax,
    "MatMul": _matmul,
    "Max": partial(_folded, "maximum"),
    "MaxPool": partial(_pool, "max_pool2d"),
    "Mean": _mean,
    "Min": partial(_folded, "minimum"),
    "Mul": partial(_broadcasting, "multiply"),
    "Neg": partial(_same, "neg"),
    "PRelu": partial(_broadcasting, "prelu"),
    "Pow": partial(_broadcasting, "power"),
    "Reciprocal": _reciprocal,
    "ReduceMax": partial(_reduce, "reduce_max"),
    "ReduceMean": partial(_reduce, "reduce_mean"),
    "ReduceMin": partial(_reduce, "reduce_min"),
    "ReduceSum": partial(_reduce, "reduce_sum"),
    "Relu": partial(_same, "relu"),
    "Sigmoid": partial(_same, "sigmoid"),
    "Softmax": _softmax,
    "Softplus": partial(_same, "softplus"),
    "Sqrt": partial(_same, "sqrt"),
    "Sub": partial(_broadcasting, "subtract"),
    "Sum": partial(_folded, "add"),
    "Tanh": partial(_same, "tanh"),
    **SHAPE_READERS,
}
"""Operators of activations; nodes on known values (shapes, weights) are evaluated instead."""
