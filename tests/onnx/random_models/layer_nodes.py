"""Rules for layers: convolutions, pools, products, normalization, resizing, recurrence."""

from __future__ import annotations

from math import prod

import numpy as np
from drawing import Drawn, axis_of, has_rank, is_float, lies_in, rule


@rule(6)
def convolution(model):
    data = model.pick(is_float, has_rank(3, 4, 5))
    if data is None:
        return None
    channels, image = data.shape[1], data.shape[2:]
    group = model.random.choice([g for g in range(1, channels + 1) if channels % g == 0][:3])
    filters = group * model.random.choice([1, 2, 3])
    kernel = [model.random.randint(1, min(3, n)) for n in image]
    weight = model.values((filters, channels // group, *kernel), data.dtype)
    attributes = {
        "group": group,
        "strides": [model.random.choice([1, 1, 2]) for _ in image],
        "dilations": [model.random.choice([1, 1, 2]) for _ in image],
    }
    if model.random.random() < 0.3:
        attributes["auto_pad"] = model.random.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
        attributes["dilations"] = [1] * len(image)
    else:
        attributes["pads"] = [model.random.randint(0, 2) for _ in range(2 * len(image))]
    operands = [data, model.constant(weight)]
    if model.random.random() < 0.5:
        operands.append(model.constant(model.values((filters,), data.dtype)))
    return Drawn("Conv", tuple(operands), attributes, exact=True)


@rule(2)
def transposed_convolution(model):
    data = model.pick(is_float, has_rank(3, 4))
    if data is None:
        return None
    channels, image = data.shape[1], data.shape[2:]
    kernel = [model.random.randint(1, 4) for _ in image]
    weight = model.values((channels, model.random.choice([1, 2, 3]), *kernel), data.dtype)
    strides = [model.random.choice([1, 2]) for _ in image]
    attributes = {"strides": strides, "pads": [model.random.randint(0, 1)] * (2 * len(image))}
    return Drawn("ConvTranspose", (data, model.constant(weight)), attributes, exact=True)


@rule(4)
def pooling(model):
    data = model.pick(is_float, has_rank(3, 4, 5))
    if data is None:
        return None
    kind = model.random.choice(
        ["MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool"]
    )
    if kind.startswith("Global"):
        return Drawn(kind, (data,), exact=kind == "GlobalMaxPool")
    kernel = [model.random.randint(1, min(3, n)) for n in data.shape[2:]]
    attributes = {
        "kernel_shape": kernel,
        "strides": [model.random.choice([1, 2]) for _ in kernel],
        "pads": [model.random.randint(0, k - 1) for k in (*kernel, *kernel)],
    }
    if kind != "LpPool":
        attributes["ceil_mode"] = model.random.randint(0, 1)
    if kind == "AveragePool":
        attributes["count_include_pad"] = model.random.randint(0, 1)
    return Drawn(kind, (data,), attributes, exact=kind == "MaxPool")


@rule(4)
def product(model):
    first = model.pick(is_float, has_rank(1, 2, 3, 4))
    if first is None:
        return None
    inner = first.shape[-1]
    second = model.pick(
        lambda t: t.dtype == first.dtype and len(t.shape) >= 2 and t.shape[-2] == inner
    )
    if second is None or model.random.random() < 0.5:
        outer = list(first.shape[:-2]) if model.random.random() < 0.3 else []
        shape = [*outer, inner, model.random.choice([1, 3, 8])]
        second = model.constant(model.values(shape, first.dtype))
    return Drawn("MatMul", (first, second), exact=True)


@rule(2)
def gemm(model):
    first = model.pick(is_float, has_rank(2))
    if first is None:
        return None
    flipped, turned = model.random.randint(0, 1), model.random.randint(0, 1)
    inner, wide = first.shape[0 if flipped else 1], model.random.choice([1, 3, 5])
    weight = model.values((wide, inner) if turned else (inner, wide), first.dtype)
    operands = [first, model.constant(weight)]
    if model.random.random() < 0.6:
        shape = model.random.choice([(), (wide,), (1, wide), (first.shape[1 if flipped else 0], 1)])
        operands.append(model.constant(model.values(shape, first.dtype)))
    attributes = {"transA": flipped, "transB": turned}
    attributes |= {name: model.random.choice([1.0, 0.5, 2.0]) for name in ("alpha", "beta")}
    return Drawn("Gemm", tuple(operands), attributes, exact=True)


@rule(1)
def einsum(model):
    first = model.pick(is_float, has_rank(3))
    if first is None:
        return None
    second = model.constant(model.values((first.shape[0], first.shape[2], 3), first.dtype))
    equation = model.random.choice(["bij,bjk->bik", "bij,bjk->ki", "bij,bjk->b"])
    return Drawn("Einsum", (first, second), {"equation": equation}, exact=True)


@rule(3)
def normalization(model):
    data = model.pick(is_float, has_rank(2, 3, 4), lambda t: prod(t.shape[1:]) > 2)
    if data is None:
        return None
    channels, dtype = data.shape[1], data.dtype
    scale, shift, mean = (model.constant(model.values((channels,), dtype)) for _ in range(3))
    spread = model.constant(np.abs(model.values((channels,), dtype)) + np.array(0.5, dtype))
    kind = model.random.choice(["batch", "instance", "layer", "lrn", "lp", "mean"])
    if kind == "batch":
        return Drawn("BatchNormalization", (data, scale, shift, mean, spread))
    if np.ptp(data.value) < 1:
        return None
    if kind == "instance":
        return Drawn("InstanceNormalization", (data, scale, shift), {"epsilon": 0.1})
    if kind == "layer":
        weight = model.constant(model.values(data.shape[-1:], dtype))
        return Drawn("LayerNormalization", (data, weight), {"axis": -1, "epsilon": 0.1})
    if kind == "lrn":
        return Drawn("LRN", (data,), {"size": 3})
    if kind == "lp":
        axis = axis_of(model, data)
        if np.linalg.norm(data.value.astype("float64"), axis=axis).min() < 0.5:
            return None
        return Drawn("LpNormalization", (data,), {"axis": axis, "p": model.random.choice([1, 2])})
    return None


@rule(2)
def resize(model):
    data = model.pick(is_float, has_rank(4))
    if data is None:
        return None
    mode = model.random.choice(["nearest", "linear"])
    attributes = {"mode": mode}
    attributes["coordinate_transformation_mode"] = model.random.choice(
        ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    )
    if mode == "nearest":
        attributes["coordinate_transformation_mode"] = "asymmetric"
        attributes["nearest_mode"] = "floor"
    scales = [1.0, 1.0, *(model.random.choice([1.0, 2.0, 1.5, 3.0]) for _ in range(2))]
    roi = model.constant(np.zeros(0, data.dtype)) if model.opset < 13 else None
    operands = (data, roi, model.constant(np.array(scales, np.float32)))
    return Drawn("Resize", operands, attributes)


@rule(1)
def recurrent(model):
    data = model.pick(is_float, has_rank(3), lies_in(-8, 8))
    if data is None:
        return None
    kind, gates = model.random.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    direction = model.random.choice(["forward", "reverse", "bidirectional"])
    ways, size = 2 if direction == "bidirectional" else 1, 3
    operands = [
        data,
        model.constant(model.values((ways, gates * size, data.shape[2]), data.dtype)),
        model.constant(model.values((ways, gates * size, size), data.dtype)),
    ]
    if model.random.random() < 0.5:
        operands.append(model.constant(model.values((ways, 2 * gates * size), data.dtype)))
    attributes = {"hidden_size": size, "direction": direction}
    if kind == "GRU":
        attributes["linear_before_reset"] = model.random.randint(0, 1)
    return Drawn(kind, tuple(operands), attributes, outputs=2)
